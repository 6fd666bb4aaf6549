import { PasswordInput, type PasswordInputProps } from '@mantine/core'

/** The lengths that the API accepts. */
export const PASSWORD_RULE = '8 to 1024 characters'

/** Password with a button that shows it. Uncontrolled, so that password managers can fill it. */
export function PasswordField(props: PasswordInputProps) {
  return (
    <PasswordInput required visibilityToggleButtonProps={{ 'aria-label': 'Show or hide what is typed' }} {...props} />
  )
}
