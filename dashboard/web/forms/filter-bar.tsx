import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import styles from './filter-bar.module.css';
import { TextInput } from './inputs.tsx';

export interface FilterBarProps {
  /** Filters, each with a `label`. Their state is in the URL, so that it can be shared. */
  readonly children: ReactNode;
  readonly url: { readonly isFiltered: boolean; readonly clear: () => void };
  /** Shown at the end: a CsvLink or a switch. */
  readonly actions?: ReactNode;
}

export function FilterBar({ children, url, actions }: FilterBarProps): ReactNode {
  const filters = useRef<HTMLDivElement>(null);
  // The button goes with the filters, and the focus with it.
  const clear = () => {
    url.clear();
    filters.current?.querySelector<HTMLElement>('button, input, select')?.focus();
  };
  return (
    <search className={styles.bar}>
      <div ref={filters} className={styles.filters}>
        {children}
        {url.isFiltered && (
          <Button tone="quiet" icon="close" onClick={clear}>
            Clear
          </Button>
        )}
      </div>
      {actions && <div className={styles.actions}>{actions}</div>}
    </search>
  );
}

interface SearchBoxProps {
  readonly label: string;
  readonly value: string | undefined;
  /** Called on Enter, paste, blur and clear, not for each letter. `undefined`: it is empty. */
  readonly onSearch: (value: string | undefined) => void;
  /** Also calls `onSearch` for each letter, for lists that the page itself filters. */
  readonly live?: boolean;
}

export function SearchBox({ label, value = '', onSearch, live = false }: SearchBoxProps): ReactNode {
  const [text, setText] = useState(value);
  const pasting = useRef(false);
  useEffect(() => setText(value), [value]);
  const search = (next: string) => onSearch(next === '' ? undefined : next);
  const done = (event?: FormEvent) => {
    event?.preventDefault();
    if (!live && text.trim() !== value) search(text.trim());
  };
  return (
    <form
      className={styles.search}
      onSubmit={done}
      onBlur={() => done()}
      onPaste={() => {
        pasting.current = true;
      }}
    >
      <Icon name="search" />
      <TextInput
        type="search"
        label={label}
        placeholder={label}
        value={text}
        maxLength={200}
        spellCheck={false}
        onChange={(next) => {
          setText(next);
          const pasted = pasting.current;
          pasting.current = false;
          if (live || (next === '' && value !== '')) search(next);
          else if (pasted && next.trim() !== value) search(next.trim());
        }}
      />
    </form>
  );
}

interface SearchFilterProps {
  readonly label: string;
  readonly url: {
    readonly search: { readonly search?: string | undefined };
    readonly change: (next: { readonly search: string | undefined }) => void;
  };
}

/** Searches a list while the user types. A text of spaces only is no search. */
export function SearchFilter({ label, url: { search, change } }: SearchFilterProps): ReactNode {
  const onSearch = (text?: string) => change({ search: text?.trim() ? text : undefined });
  return <SearchBox label={label} value={search.search} live onSearch={onSearch} />;
}
