/** Images of a message, as data URLs. */

export const MAX_IMAGES = 4
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024

const isImage = (file: File) => file.type.startsWith('image/')

/** Reads the images among files. `problem` says which were left out. */
export async function readImages(
  files: readonly File[],
  alreadyChosen: number,
): Promise<{ images: string[]; problem?: string }> {
  const images = files.filter(isImage)
  const fitting = images.filter(({ size }) => size <= MAX_IMAGE_BYTES).slice(0, MAX_IMAGES - alreadyChosen)
  const problem =
    images.length < files.length
      ? 'Only images can be attached.'
      : fitting.length < images.length
        ? `A message has up to ${MAX_IMAGES} images of at most 5 MiB.`
        : undefined
  return { images: await Promise.all(fitting.map(dataUrlOf)), problem }
}

async function dataUrlOf(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return `data:${file.type};base64,${btoa(text)}`
}

/** The image of a data URL that this console has made. */
export function blobOf(dataUrl: string): Blob {
  const [head = '', base64 = ''] = dataUrl.split(',')
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
  return new Blob([bytes], { type: head.slice('data:'.length).split(';')[0] })
}
