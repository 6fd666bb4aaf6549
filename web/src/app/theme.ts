/** Colours, fonts and spacing. Every pair of text and background colours has a contrast of at least 4.5. */

import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

const brand: MantineColorsTuple = [
  '#eaf6fa',
  '#d4ebf2',
  '#a9d7e5',
  '#7ac1d6',
  '#52adc8',
  '#3699b7',
  '#1f86a6',
  '#147796',
  '#0b6480',
  '#074f66',
]
const gray: MantineColorsTuple = [
  '#f6f7f9',
  '#eef0f3',
  '#e3e6ea',
  '#d3d8de',
  '#bcc3cc',
  '#98a2af',
  '#69737f',
  '#4c5663',
  '#333b45',
  '#1c2127',
]
const dark: MantineColorsTuple = [
  '#dbe0e6',
  '#b9c1cc',
  '#9aa5b3',
  '#67727f',
  '#3b4550',
  '#2c353f',
  '#222a32',
  '#181d23',
  '#11151a',
  '#0b0e11',
]
const MONO = "'JetBrains Mono Variable', ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"

/** Options of a list that are drawn; more are found by typing. */
const MAX_OPTIONS = 100
const CLOSE = { 'aria-label': 'Close' }
const DIALOG_TITLE = { fontSize: 'var(--mantine-font-size-lg)', fontWeight: 600 }

export const theme = createTheme({
  colors: { brand, gray, dark },
  primaryColor: 'brand',
  primaryShade: { light: 8, dark: 7 },
  black: '#1c2127',
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: MONO,
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.375rem', lineHeight: '1.3' },
      h2: { fontSize: '1rem', lineHeight: '1.4' },
      h3: { fontSize: '0.875rem', lineHeight: '1.4' },
    },
  },
  defaultRadius: 'md',
  radius: { sm: '0.25rem', md: '0.375rem', lg: '0.5rem' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    InputWrapper: { styles: { label: { marginBottom: 4, fontWeight: 500 } } },
    Button: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Select: { defaultProps: { size: 'sm', checkIconPosition: 'right', limit: MAX_OPTIONS } },
    MultiSelect: { defaultProps: { limit: MAX_OPTIONS } },
    Autocomplete: { defaultProps: { limit: MAX_OPTIONS } },
    TagsInput: { defaultProps: { limit: MAX_OPTIONS } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    Modal: { defaultProps: { centered: true, closeButtonProps: CLOSE }, styles: { title: DIALOG_TITLE } },
    Drawer: { defaultProps: { closeButtonProps: CLOSE }, styles: { title: DIALOG_TITLE } },
    Notification: { defaultProps: { closeButtonProps: CLOSE } },
    Paper: { defaultProps: { withBorder: true } },
    Anchor: { defaultProps: { underline: 'hover' } },
  },
})

export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--fb-page': gray[0],
    '--fb-code': gray[1],
    '--fb-border': gray[2],
    '--fb-hover': gray[1],
    '--fb-current': brand[0],
    '--mantine-color-body': '#ffffff',
    '--mantine-color-text': gray[9],
    '--mantine-color-dimmed': '#56606c',
    '--mantine-color-placeholder': gray[6],
    '--mantine-color-error': '#c02626',
    '--mantine-color-anchor': brand[8],
    '--mantine-color-default-border': gray[3],
    '--fb-ok': '#1d7a45',
    '--fb-warn': '#a35c00',
    '--fb-bad': '#c02626',
    '--fb-busy': brand[7],
    '--fb-idle': gray[6],
  },
  dark: {
    '--fb-page': dark[8],
    '--fb-code': dark[8],
    '--fb-border': dark[5],
    '--fb-hover': dark[6],
    '--fb-current': dark[6],
    '--mantine-color-body': dark[7],
    '--mantine-color-text': dark[0],
    '--mantine-color-dimmed': dark[2],
    '--mantine-color-placeholder': '#8a95a3',
    '--mantine-color-error': '#ff8f8f',
    '--mantine-color-anchor': brand[3],
    '--mantine-color-default-border': dark[5],
    '--fb-ok': '#5ecb8f',
    '--fb-warn': '#f0b35c',
    '--fb-bad': '#ff8f8f',
    '--fb-busy': brand[3],
    '--fb-idle': dark[2],
  },
})
