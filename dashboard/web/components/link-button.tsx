import { createLink } from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import styles from './button.module.css';
import { type ButtonLook, buttonClass } from './button.tsx';
import { Icon } from './icon.tsx';

interface AnchorProps extends ButtonLook, Omit<ComponentProps<'a'>, 'className'> {}

/** A link to elsewhere that looks like a button. */
export function ButtonAnchor({ tone, size, icon, children, ...rest }: AnchorProps): ReactNode {
  return (
    <a {...rest} className={buttonClass({ ...(tone && { tone }), ...(size && { size }) })}>
      <span className={styles.content}>
        {icon && <Icon name={icon} />}
        {children}
      </span>
    </a>
  );
}

/** A link of the router that looks like a button: `<LinkButton to="/o/$organization/keys" params={{ organization }}>`. */
export const LinkButton = createLink(ButtonAnchor);
