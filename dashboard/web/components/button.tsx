import { createLink } from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import styles from './button.module.css';
import { classNames } from './class-names.ts';
import { Icon, type IconName } from './icon.tsx';

export type ButtonTone = 'primary' | 'neutral' | 'quiet' | 'danger';

export interface ButtonLook {
  readonly tone?: ButtonTone;
  readonly size?: 'small';
  readonly icon?: IconName;
}

export interface ButtonProps extends ButtonLook, Omit<ComponentProps<'button'>, 'className'> {
  /**
   * True while the action is in progress. Clicks do nothing; the width and the focus stay, which a
   * disabled button would lose.
   */
  readonly busy?: boolean;
}

function buttonClass(tone: ButtonTone = 'neutral', size?: 'small'): string {
  return classNames(styles.button, styles[tone], size && styles[size]);
}

/** A button for actions. Use LinkButton for navigation. */
export function Button({ tone, size, icon, busy = false, children, ...rest }: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={buttonClass(tone, size)}
      {...(busy && { 'aria-busy': true, 'aria-disabled': true, onClick: (event) => event.preventDefault() })}
    >
      <span className={styles.content}>
        {icon && <Icon name={icon} />}
        {children}
      </span>
    </button>
  );
}

export interface IconButtonProps extends Omit<ComponentProps<'button'>, 'className' | 'children'> {
  readonly icon: IconName;
  /** Description of the action: accessible name and tooltip. */
  readonly label: string;
}

export function IconButton({ icon, label, ...rest }: IconButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={classNames(styles.button, styles.quiet, styles.onlyIcon)}
      aria-label={label}
      data-hint={label}
    >
      <Icon name={icon} />
    </button>
  );
}

interface AnchorProps extends ButtonLook, Omit<ComponentProps<'a'>, 'className'> {}

/** A plain link that looks like a button. */
export function ButtonAnchor({ tone, size, icon, children, ...rest }: AnchorProps): ReactNode {
  return (
    <a {...rest} className={buttonClass(tone, size)}>
      <span className={styles.content}>
        {icon && <Icon name={icon} />}
        {children}
      </span>
    </a>
  );
}

/**
 * A router link that looks like a button: `<LinkButton to="/o/$organization/keys" params={{
 * organization }}>`.
 */
export const LinkButton = createLink(ButtonAnchor);

/** Marks a link that opens in a new tab. */
export function NewTab(): ReactNode {
  return (
    <>
      <Icon name="external" />
      <span className="visually-hidden">(opens in a new tab)</span>
    </>
  );
}
