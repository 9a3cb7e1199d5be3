import { Menu as BaseMenu } from '@base-ui/react/menu';
import { type ReactElement, type ReactNode, useLayoutEffect, useRef } from 'react';
import { classNames } from '../components/class-names.ts';
import { Icon, type IconName } from '../components/icon.tsx';
import styles from './menu.module.css';

export interface MenuAction {
  readonly label: string;
  readonly detail?: string;
  readonly icon?: IconName;
  readonly tone?: 'bad';
  readonly disabled?: boolean;
  readonly chosen?: boolean;
  /** True if the menu stays open after a choice, because several may be made. */
  readonly staysOpen?: boolean;
  readonly onSelect: () => void;
}

export interface MenuGroup {
  readonly heading?: string;
  readonly actions: readonly MenuAction[];
}

export interface MenuProps {
  readonly trigger: ReactElement<Record<string, unknown>>;
  readonly groups: readonly MenuGroup[];
  readonly align?: 'start' | 'end';
  readonly fitTrigger?: boolean;
}

/** Mounted when the menu opens for the first time. */
export function MenuPopup({ trigger, groups, align = 'end', fitTrigger = false }: MenuProps): ReactNode {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    // Replaces the pressed button, so it takes over the focus, to which later overlays return it.
    if (document.activeElement === document.body) button.current?.focus();
  }, []);
  return (
    <BaseMenu.Root defaultOpen>
      <BaseMenu.Trigger ref={button} render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner className={styles.positioner} sideOffset={4} align={align} collisionPadding={8}>
          <BaseMenu.Popup className={classNames(styles.popup, fitTrigger && styles.fit)}>
            {groups.map((group, index) => (
              <BaseMenu.Group key={group.heading ?? index} className={styles.group}>
                {group.heading && <BaseMenu.GroupLabel className={styles.heading}>{group.heading}</BaseMenu.GroupLabel>}
                {group.actions.map((action) => (
                  <MenuItem key={action.label + (action.detail ?? '')} action={action} />
                ))}
              </BaseMenu.Group>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

function MenuItem({ action }: { readonly action: MenuAction }): ReactNode {
  return (
    <BaseMenu.Item
      className={classNames(styles.item, action.tone)}
      disabled={action.disabled ?? false}
      closeOnClick={action.staysOpen !== true}
      onClick={action.onSelect}
    >
      {action.icon && <Icon name={action.icon} />}
      <span className="fill">
        {action.label}
        {action.detail && <span className={styles.detail}>{action.detail}</span>}
      </span>
      {action.chosen && (
        <>
          <Icon name="check" />
          <span className="visually-hidden">chosen</span>
        </>
      )}
    </BaseMenu.Item>
  );
}
