/** Names of end users. */

const SHOWN_OF_ID = 11

/** The name if it is kept, else the beginning of the id. */
export const endUserName = (id: string, name: string | null | undefined) => name || `${id.slice(0, SHOWN_OF_ID)}…`
