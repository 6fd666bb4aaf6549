const BYTES = 8

/** A random id. `randomUUID` is unavailable if the console is not served over TLS. */
export const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(BYTES)), (byte) => byte.toString(16).padStart(2, '0')).join('')
