import type { ReactNode } from 'react';
import { useSession } from '../../api/session.ts';
import { LinkButton } from '../../components/button.tsx';
import { classNames } from '../../components/class-names.ts';
import { Icon } from '../../components/icon.tsx';
import { loadedLater } from '../../components/loaded-later.tsx';
import { Card, Skeleton } from '../../components/panels.tsx';
import { PayButton } from '../../organizations/balance-banner.tsx';
import styles from './overview.module.css';

// Loaded later, because the overview does not need it.
const Connect = loadedLater(
  () => import('../../connect/connect.tsx').then((module) => module.Connect),
  <Skeleton height="420px" />,
);

interface FirstStepsProps {
  readonly hasKey: boolean;
  readonly hasCredit: boolean;
}

/** Replaces the empty charts until the first request. */
export function FirstSteps({ hasKey, hasCredit }: FirstStepsProps): ReactNode {
  const { playground } = useSession();
  const first = hasCredit ? 1 : 2;
  return (
    <Card title="First steps">
      <ol className={styles.steps}>
        {!hasCredit && (
          <li className={styles.step}>
            <Mark number={1} done={false} />
            <div className={styles.words}>
              <h3>Add credit</h3>
              <p>Requests are paid from the balance, which is empty. An owner or your operator can add credit.</p>
              <div>
                <PayButton />
              </div>
            </div>
          </li>
        )}
        <li className={classNames(styles.step, hasKey && styles.done)}>
          <Mark number={first} done={hasKey} />
          <div className={styles.words}>
            <h3>Create a key</h3>
            <p>Use one key per application, so you can limit and revoke each on its own.</p>
            {!hasKey && (
              <LinkButton tone="primary" icon="plus" from="/o/$organization" to="/o/$organization/keys">
                Create key
              </LinkButton>
            )}
          </div>
        </li>
        <li className={styles.step}>
          <Mark number={first + 1} done={false} />
          <div className={styles.words}>
            <h3>Send the first request</h3>
            <Connect />
            {playground && (
              <LinkButton icon="play" from="/o/$organization" to="/o/$organization/playground">
                Or try a model here
              </LinkButton>
            )}
          </div>
        </li>
      </ol>
    </Card>
  );
}

function Mark({ number, done }: { readonly number: number; readonly done: boolean }): ReactNode {
  return (
    <span className={styles.mark}>
      {done ? (
        <>
          <Icon name="check" />
          <span className="visually-hidden">Done:</span>
        </>
      ) : (
        <span aria-hidden="true">{number}</span>
      )}
    </span>
  );
}
