import { Button, Kbd, Modal, Text, UnstyledButton } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { Suspense } from 'react'
import { lazyPart } from '../ui/lazy-part'
import classes from './Shell.module.css'

const Palette = lazyPart(() => import('./Palette'), NotLoaded)

/** In place of the palette whose file is gone, which is so after an upgrade. */
function NotLoaded({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Go to" yOffset="12vh">
      <Text mb="md">The search could not be loaded. Load the page again.</Text>
      <Button onClick={() => location.reload()}>Load again</Button>
    </Modal>
  )
}

/** Opens the palette, as Ctrl+K does everywhere. `/` goes to the search field of the page, or else opens it, too. */
export function SearchButton() {
  const [isOpen, palette] = useDisclosure(false)
  const search = () => {
    const field = document.querySelector<HTMLInputElement>('#main input[type="search"]')
    if (field) field.focus()
    else palette.open()
  }
  // Ctrl+K also works in fields; `/` is a character there.
  useHotkeys([['mod+K', palette.open]], [])
  useHotkeys([['/', search]])
  return (
    <>
      <UnstyledButton className={classes.item} onClick={palette.open} aria-keyshortcuts="Control+K">
        <IconSearch size={18} stroke={1.75} aria-hidden />
        Search
        <Kbd size="xs" aria-hidden>
          Ctrl K
        </Kbd>
      </UnstyledButton>
      {isOpen ? (
        <Suspense>
          <Palette opened onClose={palette.close} />
        </Suspense>
      ) : null}
    </>
  )
}
