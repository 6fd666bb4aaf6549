import { useRouter } from '@tanstack/react-router'
import type { ComponentProps, MouseEvent } from 'react'

type Props = Omit<ComponentProps<'a'>, 'href'> & { href: string }

/** Link within the console; `href` comes from `paths.ts`. Works as `component={Link}` of Mantine components. */
export function Link({ href, onClick, onMouseEnter, ...rest }: Props) {
  const router = useRouter()
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    if (event.defaultPrevented || !isPlain || rest.target || rest.download !== undefined) return
    event.preventDefault()
    router.history.push(href)
  }
  return <a {...rest} href={href} onClick={follow} onMouseEnter={onMouseEnter} />
}
