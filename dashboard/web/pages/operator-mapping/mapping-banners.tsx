import type { ReactNode } from 'react';
import type { MappingView } from '../../../contract/operator.ts';
import { Banner } from '../../components/banner.tsx';
import styles from './mapping.module.css';

/** What is not as the file says, or cannot work. */
export function MappingBanners({
  mapping: { problems, warnings, restartNeeded, processesBehind },
}: {
  readonly mapping: MappingView;
}): ReactNode {
  return (
    <>
      {problems.length > 0 && (
        <Banner tone="bad" title="The file was changed and is refused: the mapping before it stays in force">
          <Lines of={problems} />
        </Banner>
      )}
      {processesBehind > 0 && (
        <Banner
          tone="warn"
          title={`${processesBehind} ${processesBehind === 1 ? 'process works' : 'processes work'} with another mapping`}
        >
          A moment after a change that is as it should be. If it stays, the file on that host differs, or is refused
          there.
        </Banner>
      )}
      {restartNeeded.length > 0 && (
        <Banner tone="warn" title="Some changes wait for a restart">
          {restartNeeded.map((field, index) => (
            <span key={field}>
              {index > 0 && ', '}
              <code>{field}</code>
            </span>
          ))}
        </Banner>
      )}
      {warnings.length > 0 && (
        <Banner tone="warn" title="Some models or providers cannot work">
          <Lines of={warnings} />
        </Banner>
      )}
    </>
  );
}

function Lines({ of: lines }: { readonly of: readonly string[] }): ReactNode {
  return (
    <ul className={styles.lines}>
      {lines.map((line) => (
        <li key={line}>
          <code>{line}</code>
        </li>
      ))}
    </ul>
  );
}
