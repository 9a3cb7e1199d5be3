import { type ReactNode, useEffect } from 'react';
import type { RequestView } from '#contract/request-log.ts';
import { useAsk } from '../../api/use-ask.ts';
import { StatusPill } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { UnlessFailed } from '../../components/states.tsx';
import { Drawer } from '../../overlays/dialog.tsx';
import { ChargeDetails } from './charge-details.tsx';
import { RequestDetails } from './request-details.tsx';
import { RequestError } from './request-error.tsx';
import { routeLabel, statusLabel, statusTone } from './request-labels.ts';
import styles from './requests.module.css';

export interface RequestDrawerProps {
  readonly organization: string;
  /** Absent while closed. */
  readonly id: string | undefined;
  readonly rows: readonly RequestView[] | undefined;
  readonly onOpen: (id: string) => void;
  readonly onClose: () => void;
}

/** All about one request. The arrow keys select the neighbouring rows. */
export function RequestDrawer({ organization, id, rows, onOpen, onClose }: RequestDrawerProps): ReactNode {
  const detail = useAsk(
    'GET /api/organizations/:organization/requests/:request',
    { params: { organization, request: id ?? '' } },
    { enabled: id !== undefined },
  );
  const index = rows?.findIndex((row) => row.id === id) ?? -1;
  const newer = index > 0 ? rows?.[index - 1]?.id : undefined;
  const older = index >= 0 ? rows?.[index + 1]?.id : undefined;
  const request = detail.data ?? rows?.[index];
  useArrowKeys(id !== undefined, (key) => {
    const next = key === 'ArrowUp' ? newer : older;
    if (next !== undefined) onOpen(next);
  });
  return (
    <Drawer
      open={id !== undefined}
      onClose={onClose}
      title={request ? (request.model ?? routeLabel(request.route)) : 'Request'}
      description={request && <StatusPill tone={statusTone(request)}>{statusLabel(request)}</StatusPill>}
      footer={
        index >= 0 && (
          <>
            <Button icon="chevronUp" disabled={newer === undefined} onClick={() => newer && onOpen(newer)}>
              Newer
            </Button>
            <Button icon="chevronDown" disabled={older === undefined} onClick={() => older && onOpen(older)}>
              Older
            </Button>
          </>
        )
      }
    >
      <UnlessFailed query={detail}>
        <div className={styles.details}>
          {request?.code !== undefined && <RequestError code={request.code} />}
          <RequestDetails organization={organization} request={request} detail={detail.data} />
          {detail.data?.charge && <ChargeDetails charge={detail.data.charge} />}
        </div>
      </UnlessFailed>
    </Drawer>
  );
}

function useArrowKeys(active: boolean, walk: (key: 'ArrowUp' | 'ArrowDown') => void): void {
  useEffect(() => {
    if (!active) return;
    const listen = (event: KeyboardEvent) => {
      if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
      if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
      event.preventDefault();
      walk(event.key);
    };
    // Runs before the dialog, which stops key events.
    window.addEventListener('keydown', listen, { capture: true });
    return () => window.removeEventListener('keydown', listen, { capture: true });
  }, [active, walk]);
}
