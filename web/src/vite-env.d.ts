/** The version of the console, which is that of the gateway that serves it. */
declare const __FOREBAY_VERSION__: string
