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
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* "true" if gateways run replicas as Pods: only then they get a token and permissions. */}}
{{- define "forebay.runsPods" -}}
{{- if and .Values.replicas.enabled (or .Values.existingConfigMap (contains "[drivers.kubernetes" .Values.config)) }}true{{ end }}
{{- end }}

{{- /* The labels of the gateways of this release. */}}
{{- define "forebay.callers" -}}
app.kubernetes.io/name=forebay,app.kubernetes.io/instance={{ .Release.Name }},app.kubernetes.io/component=gateway
{{- end }}
