import type { ReactNode } from 'react';
import type { CsvTable, OperatorCsvTable } from '#contract/api.ts';
import { queryText } from '../api/endpoint-url.ts';
import { ButtonAnchor } from '../components/button.tsx';

/** `costs` is of all organizations. */
type CsvSource =
  | { readonly organization: string; readonly table: CsvTable }
  | { readonly organization?: never; readonly table: OperatorCsvTable };

export type CsvLinkProps = CsvSource & {
  readonly query: Readonly<Record<string, unknown>>;
};

/** Downloads all rows of the page's filter as CSV. */
export function CsvLink({ organization, table, query }: CsvLinkProps): ReactNode {
  const folder = organization === undefined ? '/api' : `/api/organizations/${encodeURIComponent(organization)}`;
  return (
    <ButtonAnchor icon="download" href={`${folder}/${table}.csv${queryText(query)}`} download>
      Export CSV
    </ButtonAnchor>
  );
}
