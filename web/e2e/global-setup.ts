/** Starts one forebay for the whole run; tests get its address from the environment. */

import { startForebay, startHub } from './forebay'

export default async function setup() {
  // Without it responses cannot be stored.
  process.env.FOREBAY_CONTENT_KEY ??= Buffer.alloc(32, 7).toString('base64')
  const hub = await startHub()
  process.env.HF_ENDPOINT = hub.url
  const { stop, ...forebay } = await startForebay()
  process.env.FOREBAY_UNDER_TEST = JSON.stringify(forebay)
  return async () => {
    await stop()
    await hub.stop()
  }
}
