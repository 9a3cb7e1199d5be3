import { type LinkProps, useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useDeferredValue, useId, useRef, useState } from 'react';
import { present } from '#core/present.ts';
import { useAsk } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Icon, type IconName } from '../components/icon.tsx';
import inputStyles from '../forms/inputs.module.css';
import { Dialog } from '../overlays/dialog.tsx';
import { useViews } from '../search/use-views.ts';
import styles from './palette.module.css';
import { requestsFound } from './requests-found.ts';
import { usePages } from './sidebar.tsx';
import { useShellOrganization } from './use-organization.tsx';

interface Found {
  readonly kind: string;
  readonly icon: IconName;
  readonly label: string;
  readonly detail?: string;
  readonly link: Pick<LinkProps, 'to' | 'params' | 'search' | 'reloadDocument'>;
}

const MAX_SHOWN = 12;

interface PaletteProps {
  /** Its letters may have been typed before the palette was loaded. */
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}

/** Finds and opens pages, views, keys, models, organizations and requests by part of the name. */
export function Palette({ text, onText, onClose }: PaletteProps): ReactNode {
  const [at, setAt] = useState(0);
  const navigate = useNavigate();
  const id = useId();
  const box = useRef<HTMLInputElement>(null);
  const { found, without } = useFound(text.trim());
  const chosen = Math.min(at, found.length - 1);
  const go = (one: Found | undefined) => {
    if (one === undefined) return;
    onClose();
    void navigate(one.link);
  };
  const move = (event: KeyboardEvent) => {
    if (event.key === 'Enter') go(found[chosen]);
    else if (event.key === 'ArrowDown') setAt((chosen + 1) % found.length);
    else if (event.key === 'ArrowUp') setAt((chosen - 1 + found.length) % found.length);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog onClose={onClose} title="Go to" initialFocus={box}>
      <search onKeyDown={move}>
        <input
          ref={box}
          type="search"
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
          className={inputStyles.input}
          aria-label="Page, view, key, model, organization or request id"
          placeholder="Page, view, key, model, organization or request id"
          value={text}
          onChange={(event) => {
            onText(event.target.value);
            setAt(0);
          }}
        />
      </search>
      <div id={`${id}-list`} role="listbox" aria-label="Found" className={styles.found}>
        {found.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the box has the keys
          <div
            key={JSON.stringify([one.kind, one.label, one.link])}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className="option"
            data-highlighted={index === chosen || undefined}
            onMouseMove={() => setAt(index)}
            onClick={() => go(one)}
          >
            <Icon name={one.icon} />
            <span className="fill">{one.label}</span>
            <span className="muted small">{one.detail ?? one.kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && (
        <p className="muted" role="status">
          {without}
        </p>
      )}
    </Dialog>
  );
}

/** Id of a request, a generation or a log entry. Longer than most names. */
const ID = /^(?:gen-|log-)?[\w-]{16,200}$/;

function useFound(text: string) {
  const { user, organizations } = useSession();
  const here = useShellOrganization();
  const search = useDeferredValue(text);
  const params = { organization: here?.id ?? '' };
  const enabled = here !== undefined;
  const keys = useAsk('GET /api/organizations/:organization/keys', { params }, { enabled });
  const models = useAsk('GET /api/organizations/:organization/models', { params }, { enabled });
  const others = useAsk(
    'GET /api/organizations',
    { query: { search } },
    { enabled: user.isOperator && search !== '', keepPrevious: true },
  );
  // The last organization need not be the one of a request that an operator was asked about.
  const isId = ID.test(search);
  const requests = useAsk('GET /api/requests', { query: { search } }, { enabled: user.isOperator && isId });
  const views = [...useViews(here?.id, enabled), ...useViews(undefined, user.isOperator)];
  const pages = usePages().flatMap(({ entries }) => entries);
  const candidates: readonly Found[] = [
    ...pages.map(({ label, icon, ...link }): Found => ({ kind: 'Page', icon, label, link: { ...link, params } })),
    ...views.map(({ name, link }): Found => {
      const detail = link.params ? 'View' : 'View of all organizations';
      return { kind: 'View', icon: 'eye', label: name, detail, link };
    }),
    ...(keys.data?.keys ?? []).map(
      (key): Found => ({
        ...{ kind: 'Key', icon: 'key', label: key.name, detail: `Key …${key.last4}` },
        link: { to: '/o/$organization/keys', params, search: { key: key.id, show: 'all' } },
      }),
    ),
    ...(models.data?.models ?? []).map(
      (model): Found => ({
        ...{ kind: 'Model', icon: 'models', label: model.id },
        link: { to: '/o/$organization/model', params, search: { model: [model.id] } },
      }),
    ),
    ...(user.isOperator && search !== '' ? (others.data?.organizations ?? []) : organizations).map(
      ({ id, name }): Found => ({
        ...{ kind: 'Organization', icon: 'organizations', label: name, detail: `Organization ${id}` },
        link: { to: '/o/$organization/overview', params: { organization: id } },
      }),
    ),
  ];
  const words = text.toLowerCase().split(/\s+/);
  const matching = candidates.filter(({ label, detail = '', kind }) => {
    const name = `${label} ${detail} ${kind}`.toLowerCase();
    return words.every((word) => name.includes(word));
  });
  const request = (organization: string, detail: string, open?: string): Found => ({
    ...{ kind: 'Request', icon: 'search', label: search, detail },
    link: { to: '/o/$organization/requests', params: { organization }, search: { search, ...present({ open }) } },
  });
  const asked = user.isOperator
    ? requestsFound(requests.data?.requests ?? []).map((one) => request(one.organization, one.detail, one.open))
    : here && isId
      ? [request(here.id, `Find this request in ${here.name}`)]
      : [];
  const sources = [keys, models, others, requests];
  /** Said if nothing is found. */
  const without = sources.some(({ isFetching }) => isFetching)
    ? 'Looking…'
    : (sources.find(({ error }) => error)?.error?.message ?? 'No results.');
  return { found: [...matching.slice(0, MAX_SHOWN), ...asked.slice(0, MAX_SHOWN)], without };
}

const SHORTCUTS = [
  ['Ctrl K', 'Go to a page, view, key, model, organization or request'],
  ['?', 'Show this list'],
  ['← →', 'In a chart: move over time. Enter opens the requests of that time'],
  ['↑ ↓', 'In a list: the row above or below. Enter opens it'],
  ['Esc', 'Close the open dialog or menu'],
] as const;

export function Shortcuts({ onClose }: { readonly onClose: () => void }): ReactNode {
  return (
    <Dialog onClose={onClose} title="Keyboard shortcuts">
      <dl className={styles.shortcuts}>
        {SHORTCUTS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
