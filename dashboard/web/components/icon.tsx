import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

/** Strokes in a box of 16 by 16. */
const PATHS = {
  overview: 'M2 13.5h12M4 11V7M8 11V3M12 11V5.5',
  key: 'M10.5 2.5a3 3 0 1 1-2.6 4.5L3 11.9V14h2.5v-1.8h1.8v-1.8l1.6-1.6M11.2 5.3h.01',
  connect: 'M6 2v3.500M10 2v3.500M3.5 5.500h9V7.500a4.500 4.500 0 0 1-9 0zM8 12v2.500',
  requests: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01',
  usage: 'M2.5 2.5v11h11M5 10l2.5-3 2 1.5L13 4.5',
  credits: 'M2 4.5h12v7.5H2zM2 7h12M4.5 9.8h2.5',
  models: 'M8 1.8l5.5 3.1v6.2L8 14.2l-5.5-3.1V4.9zM2.5 4.9L8 8l5.5-3.1M8 8v6.2',
  members:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c.3-2.6 2-4 4.5-4s4.2 1.4 4.5 4M10.5 2.800a2.3 2.3 0 0 1 0 4.400M12.2 9.900c1.4.6 2.1 1.9 2.3 3.6',
  alerts: 'M8 2.500a3.7 3.7 0 0 1 3.7 3.700V9l1.3 2.500H3L4.300 9V6.200A3.7 3.7 0 0 1 8 2.500zM6.800 13.500h2.400',
  audit: 'M8 4.500V8l2.3 1.500M2.5 8a5.5 5.5 0 1 0 1.7-4M2.5 2.500v2.300h2.3',
  errors:
    'M8 5.500v3.200M8 11h.01M7 2.500L1.8 11.700a1.150 1.150 0 0 0 1 1.800h10.400a1.150 1.150 0 0 0 1-1.800L9 2.500a1.150 1.150 0 0 0-2 0z',
  organizations: 'M3 13.500v-11h6v11M9 6h4v7.500M1.5 13.500h13M5 5h2M5 7.800h2M5 10.600h2M11 8.500h.01M11 11h.01',
  mapping:
    'M2.5 4h3l5 8h3M2.5 12h3l1.5-2.400M10.5 4h3M9 6.400L10.5 4M12 2.500L13.5 4 12 5.500M12 10.500l1.5 1.5-1.5 1.5',
  system: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  account: 'M8 8a2.7 2.7 0 1 0 0-5.400A2.7 2.7 0 0 0 8 8zM2.8 13.800c.4-2.6 2.4-4 5.2-4s4.8 1.4 5.2 4',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  check: 'M3 8.500l3.2 3L13 4.5',
  copy: 'M5.5 5.500h8v8h-8zM3.5 10.500h-1v-8h8v1',
  download: 'M8 2.500v8M4.8 7.500L8 10.700l3.2-3.200M2.5 13.500h11',
  search: 'M7 11.500a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.500l3 3',
  filter: 'M2 4h12M4.5 8h7M6.5 12h3',
  columns: 'M2.5 3h11v10h-11zM6.200 3v10M9.800 3v10',
  more: 'M2.7 8a.8.8 0 1 0 1.6 0 .8.8 0 1 0-1.6 0M7.2 8a.8.8 0 1 0 1.6 0 .8.8 0 1 0-1.6 0M11.7 8a.8.8 0 1 0 1.6 0 .8.8 0 1 0-1.6 0',
  menu: 'M2.5 4.500h11M2.5 8h11M2.5 11.500h11',
  chevronDown: 'M4 6l4 4 4-4',
  chevronUp: 'M4 10l4-4 4 4',
  chevronLeft: 'M10 4L6 8l4 4',
  chevronRight: 'M6 4l4 4-4 4',
  sort: 'M5 6l3-3 3 3M5 10l3 3 3-3',
  refresh: 'M13.5 8a5.5 5.5 0 1 1-1.7-4M13.5 2.500v2.300h-2.3',
  trash: 'M2.5 4.500h11M6 4.500v-2h4v2M4 4.500l.7 9h6.600l.7-9',
  edit: 'M10.5 3l2.5 2.5-7.5 7.500H3v-2.500z',
  external: 'M6 3.500H3v9.500h9.500V10M9 2.500h4.500V7M13.5 2.500L7.5 8.5',
  signOut: 'M6.5 13.500h-4v-11h4M10.5 11l3-3-3-3M13.5 8H6',
  sun: 'M8 10.800a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.600zM8 1.500v1.300M8 13.200v1.300M1.5 8h1.300M13.2 8h1.300M3.4 3.400l.9.900M11.7 11.700l.9.900M12.6 3.400l-.9.900M4.3 11.700l-.9.9',
  moon: 'M13.5 9.500A6 6 0 0 1 6.5 2.500a5.7 5.7 0 1 0 7 7z',
  device: 'M2.5 3h11v7.500h-11zM6 13.500h4M8 10.500v3',
  info: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM8 7.500V11M8 5h.01',
  eye: 'M1.5 8S4 3.7 8 3.7 14.5 8 14.5 8 12 12.3 8 12.3 1.5 8 1.5 8zM8 9.800a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.600z',
  eyeOff: 'M1.5 8S4 3.7 8 3.7 14.5 8 14.5 8 12 12.3 8 12.3 1.5 8 1.5 8zM3 13.500l10-11',
  pause: 'M5.5 3.500v9M10.500 3.500v9',
  play: 'M5 3.200l7.500 4.800L5 12.800z',
  lock: 'M3.5 7h9v6.500h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
} as const;

export type IconName = keyof typeof PATHS;

interface IconProps {
  readonly name: IconName;
  readonly className?: string | undefined;
}

/** A decorative icon. Its meaning is given by text or by the button's label. */
export function Icon({ name, className }: IconProps): ReactNode {
  return (
    <svg className={classNames('icon', className)} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
