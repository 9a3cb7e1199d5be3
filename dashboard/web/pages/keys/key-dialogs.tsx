import { type ReactNode, type RefObject, useState } from 'react';
import type { CreatedKeyView } from '#contract/keys.ts';
import { HOUR_MS } from '#core/clock.ts';
import { MAX_OVERLAP_HOURS } from '#core/field-bounds.ts';
import { useSend } from '../../api/queries.ts';
import { serverMs } from '../../api/server-clock.ts';
import { useFinish } from '../../components/toast.tsx';
import { Instant } from '../../components/values.tsx';
import { formatInstant } from '../../format/format.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { FormDialog, RequestDialog } from '../../forms/form-dialog.tsx';
import { NumberField } from '../../forms/inputs.tsx';
import {
  expiryOf,
  OVERLAP_LABELS,
  type OverlapChoice,
  overlapHours,
  REPLACEMENT_LABELS,
  type ReplacementEnd,
  replacementExpiry,
} from './key-draft.ts';
import { ExpiryFields, type KeyDialogProps } from './key-form-dialogs.tsx';
import { mayExtend } from './key-status.ts';

const USUAL = '90d';

/** Sets a later expiry for a key that expires soon or has expired. */
export function ExtendKeyDialog({ of: key, onClose }: KeyDialogProps): ReactNode {
  const finish = useFinish(onClose);
  const [expiresAtMs, setExpiresAtMs] = useState(() => expiryOf(USUAL, serverMs()));
  const extend = useSend('PATCH /api/organizations/:organization/keys/:key', {
    onDone: (changed) =>
      finish(
        changed.expiresAtMs === undefined
          ? `Key “${changed.name}” works until it is revoked.`
          : `Key “${changed.name}” works until ${formatInstant(changed.expiresAtMs)}.`,
      ),
  });
  return (
    <FormDialog
      onClose={onClose}
      title={`Extend “${key.name}”`}
      description="The key works longer, and your application needs no change. To change the secret, replace the key instead."
      submit="Extend key"
      sending={extend}
      onSubmit={() => extend.mutate({ params: { key: key.id }, body: { expiresAtMs: expiresAtMs ?? null } })}
    >
      <ExpiryFields
        initial={USUAL}
        value={expiresAtMs}
        onChange={setExpiresAtMs}
        error={extend.error?.fields.expiresAtMs}
      />
    </FormDialog>
  );
}

type ReplaceKeyDialogProps = KeyDialogProps & { readonly onCreated: (created: CreatedKeyView) => void };

export function ReplaceKeyDialog({ of: key, onClose, onCreated }: ReplaceKeyDialogProps): ReactNode {
  const [choice, setChoice] = useState<OverlapChoice>('24');
  const [customHours, setCustomHours] = useState<number>();
  const [end, setEnd] = useState<ReplacementEnd>(() => (mayExtend(key, serverMs()) ? '90d' : 'same'));
  const hours = overlapHours(choice, customHours);
  const replace = useSend('POST /api/organizations/:organization/keys/:key/replacement', {
    onDone: onCreated,
  });
  return (
    <FormDialog
      onClose={onClose}
      title={`Replace “${key.name}”`}
      description="Creates a new key with the same name and settings. The old one works until it is revoked, so you can switch without downtime."
      submit="Create new key"
      sending={replace}
      onSubmit={() =>
        hours !== undefined &&
        replace.mutate({
          params: { key: key.id },
          body: { revokeOldAfterHours: hours, ...replacementExpiry(end, serverMs()) },
        })
      }
    >
      <LabelledControl label="Revoke the old key" value={choice} choices={OVERLAP_LABELS} onChange={setChoice} />
      {choice === 'custom' && (
        <NumberField
          label="Hours"
          required
          error={replace.error?.fields.revokeOldAfterHours}
          hint="Up to 720 (30 days)."
          value={customHours}
          onChange={setCustomHours}
          min={1}
          max={MAX_OVERLAP_HOURS}
        />
      )}
      {key.expiresAtMs !== undefined && (
        <LabelledControl label="The new key expires" value={end} choices={REPLACEMENT_LABELS} onChange={setEnd} />
      )}
      <p className="muted" aria-live="polite">
        {effect(hours)}
      </p>
    </FormDialog>
  );
}

function LabelledControl<Value extends string>(props: Parameters<typeof SegmentedControl<Value>>[0]): ReactNode {
  return (
    <div className="stack">
      <strong aria-hidden="true">{props.label}</strong>
      <SegmentedControl {...props} />
    </div>
  );
}

function effect(hours: number | undefined): string {
  if (hours === undefined) return '\u00a0';
  if (hours === 0)
    return 'The old key stops working at once: requests in progress finish, new ones get 401 key_revoked.';
  return `The old key works until ${formatInstant(serverMs() + hours * HOUR_MS)}.`;
}

type RevokeKeyDialogProps = KeyDialogProps & { readonly afterwards: RefObject<HTMLElement | null> };

export function RevokeKeyDialog({ of: key, ...dialog }: RevokeKeyDialogProps): ReactNode {
  return (
    <RequestDialog
      {...dialog}
      endpoint="POST /api/organizations/:organization/keys/:key/revocation"
      input={{ params: { key: key.id } }}
      news={({ name }) => `Key “${name}” revoked.`}
      title={`Revoke “${key.name}” now?`}
      submit="Revoke key"
    >
      <p>It stops working at once: requests in progress finish, new ones get 401 key_revoked. This cannot be undone.</p>
      {key.lastUsedAtMs !== undefined && (
        <p>
          Last used <Instant atMs={key.lastUsedAtMs} show="relative" />
          {key.lastAddress !== undefined && ` from ${key.lastAddress}`}.
        </p>
      )}
    </RequestDialog>
  );
}
