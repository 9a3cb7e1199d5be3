import { type ReactNode, useDeferredValue, useRef, useState } from 'react';
import { useAsk } from '../api/queries.ts';
import { EmptyState, Loaded, Skeleton } from '../components/panels.tsx';
import { TextInput } from '../forms/inputs.tsx';
import { Dialog } from '../overlays/dialog.tsx';
import styles from './organization-finder.module.css';

interface OrganizationFinderProps {
  readonly onClose: () => void;
  readonly onFound: (id: string) => void;
}

/** For operators, who may open all organizations. */
export function OrganizationFinder({ onClose, onFound }: OrganizationFinderProps): ReactNode {
  const [text, setText] = useState('');
  const search = useDeferredValue(text.trim());
  const box = useRef<HTMLInputElement>(null);
  const choose = (id: string) => {
    onClose();
    onFound(id);
  };
  const found = useAsk('GET /api/organizations', { query: { search: search || undefined } }, { keepPrevious: true });
  return (
    <Dialog onClose={onClose} title="Find an organization" size="small" initialFocus={box}>
      <TextInput ref={box} type="search" label="Name or id" placeholder="Name or id" value={text} onChange={setText} />
      <div className={styles.results}>
        <Loaded query={found} skeleton={<Skeleton height="240px" />}>
          {({ organizations }) =>
            organizations.length === 0 ? (
              <EmptyState icon="search" title="No organization has this name" />
            ) : (
              <ul>
                {organizations.map(({ id, name, suspendedAtMs }) => (
                  <li key={id}>
                    <button type="button" className={styles.result} onClick={() => choose(id)}>
                      <span>{name}</span>
                      <span className="muted small">{suspendedAtMs === undefined ? id : `${id} · suspended`}</span>
                    </button>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </div>
    </Dialog>
  );
}
