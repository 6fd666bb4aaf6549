import { expect, it } from 'vitest'
import { blobOf, MAX_IMAGE_BYTES, readImages } from './images'

const image = (bytes: number) => new File([new Uint8Array(bytes).fill(7)], 'a.png', { type: 'image/png' })

it('images become data URLs and back', async () => {
  const { images, problem } = await readImages([image(3)], 0)
  expect([images, problem]).toEqual([['data:image/png;base64,BwcH'], undefined])
  const blob = blobOf('data:image/png;base64,BwcH')
  expect([blob.type, [...new Uint8Array(await blob.arrayBuffer())]]).toEqual(['image/png', [7, 7, 7]])
})

it('other files, images that are too large and too many images are left out, with the reason', async () => {
  const text = new File(['hi'], 'a.txt', { type: 'text/plain' })
  expect(await readImages([text], 0)).toEqual({ images: [], problem: 'Only images can be attached.' })
  expect((await readImages([image(MAX_IMAGE_BYTES + 1)], 0)).problem).toContain('at most 5 MiB')
  expect((await readImages([image(1), image(1)], 3)).images).toHaveLength(1)
})
