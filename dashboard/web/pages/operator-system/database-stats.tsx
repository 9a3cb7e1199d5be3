import type { ReactNode } from 'react';
import type { SystemView } from '../../../contract/operator.ts';
import { Stat, StatRow } from '../../components/card.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { formatBytes } from '../../format/format-number.ts';

/** Absent: coming. */
export function DatabaseStats({ database }: { readonly database: SystemView['database'] | undefined }): ReactNode {
  const connections = database && `${database.connections} of ${database.maxConnections}`;
  return (
    <StatRow>
      <Stat label="PostgreSQL" value={database?.version} note={database && `Schema ${database.schemaVersion}`} />
      <Stat label="Size" value={database && formatBytes(database.sizeBytes)} note="with indexes and request log" />
      <Stat
        label="Connections"
        value={connections}
        note={
          database && (
            <ProgressBar
              label="Connections that are taken"
              fraction={database.connections / database.maxConnections}
              text={connections ?? ''}
            />
          )
        }
      />
    </StatRow>
  );
}
