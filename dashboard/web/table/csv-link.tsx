import type { ReactNode } from 'react';
import type { CsvTable } from '../../contract/api.ts';
import { queryText } from '../api/endpoint-url.ts';
import buttonStyles from '../components/button.module.css';
import { buttonClass } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';

export interface CsvLinkProps {
  readonly organization: string;
  readonly table: CsvTable;
  /** The page's filter. */
  readonly query: Readonly<Record<string, unknown>>;
}

/** What the page shows, all of it, as a file. */
export function CsvLink({ organization, table, query }: CsvLinkProps): ReactNode {
  return (
    <a
      className={buttonClass({})}
      href={`/api/organizations/${encodeURIComponent(organization)}/${table}.csv${queryText(query)}`}
      download
    >
      <span className={buttonStyles.content}>
        <Icon name="download" />
        Export CSV
      </span>
    </a>
  );
}
