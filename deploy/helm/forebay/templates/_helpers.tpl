{{- define "forebay.selector" -}}
app.kubernetes.io/name: forebay
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "forebay.labels" -}}
app.kubernetes.io/name: forebay
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* "forebay", or "team-forebay" for the release "team". */}}
{{- define "forebay.name" -}}
{{- if contains "forebay" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-forebay{{ end }}
{{- end }}

{{- define "forebay.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
