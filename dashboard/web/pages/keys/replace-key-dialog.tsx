import { type ReactNode, useState } from 'react';
import type { CreatedKeyView } from '#contract/keys.ts';
import { useSend } from '../../api/use-send.ts';
import { formatInstant } from '../../format/format-instant.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { Field } from '../../forms/field.tsx';
import { FormDialog } from '../../forms/form-dialog.tsx';
import { NumberInput } from '../../forms/number-inputs.tsx';
import {
  MAX_OVERLAP_HOURS,
  OVERLAP_CHOICES,
  OVERLAP_LABELS,
  type OverlapChoice,
  overlapHours,
  REPLACEMENT_ENDS,
  REPLACEMENT_LABELS,
  type ReplacementEnd,
  replacementExpiry,
} from './key-choices.ts';
import type { KeyDialogProps } from './key-form-dialogs.tsx';
import { mayExtend } from './key-status.ts';
import styles from './keys.module.css';

const HOUR_MS = 3_600_000;

export interface ReplaceKeyDialogProps extends KeyDialogProps {
  readonly onCreated: (created: CreatedKeyView) => void;
}

export function ReplaceKeyDialog({ organization, of: key, onClose, onCreated }: ReplaceKeyDialogProps): ReactNode {
  const [choice, setChoice] = useState<OverlapChoice>('24');
  const [customHours, setCustomHours] = useState<number>();
  const [end, setEnd] = useState<ReplacementEnd>(() => (mayExtend(key, Date.now()) ? '90d' : 'same'));
  const hours = overlapHours(choice, customHours);
  const replace = useSend('POST /api/organizations/:organization/keys/:key/replacement', {
    changes: ['GET /api/organizations/:organization/keys'],
    onDone: onCreated,
  });
  return (
    <FormDialog
      onClose={onClose}
      title={`Replace “${key.name}”`}
      description="Makes a new key with the same name and settings. The old one works until it is revoked, so that you can switch without a gap."
      submit="Create new key"
      sending={replace}
      onSubmit={() =>
        hours !== undefined &&
        replace.mutate({
          params: { organization, key: key.id },
          body: { revokeOldAfterHours: hours, ...replacementExpiry(end, Date.now()) },
        })
      }
    >
      <LabelledControl
        label="Revoke the old key"
        value={choice}
        choices={OVERLAP_CHOICES.map((value) => ({ value, label: OVERLAP_LABELS[value] }))}
        onChange={setChoice}
      />
      {choice === 'custom' && (
        <Field
          label="Hours"
          required
          error={replace.error?.fields.revokeOldAfterHours}
          hint="Up to 720, which is 30 days."
        >
          <NumberInput value={customHours} onChange={setCustomHours} min={1} max={MAX_OVERLAP_HOURS} />
        </Field>
      )}
      {key.expiresAtMs !== undefined && (
        <LabelledControl
          label="The new key expires"
          value={end}
          choices={REPLACEMENT_ENDS.map((value) => ({ value, label: REPLACEMENT_LABELS[value] }))}
          onChange={setEnd}
        />
      )}
      <p className="muted" aria-live="polite">
        {effect(hours)}
      </p>
    </FormDialog>
  );
}

/** A control with its label above it. */
function LabelledControl<Value extends string>(props: Parameters<typeof SegmentedControl<Value>>[0]): ReactNode {
  return (
    <div className={styles.choice}>
      <span className={styles.label} aria-hidden="true">
        {props.label}
      </span>
      <SegmentedControl {...props} />
    </div>
  );
}

function effect(hours: number | undefined): string {
  if (hours === undefined) return '\u00a0';
  if (hours === 0) return 'The old key stops working at once: requests in flight finish, new ones get 401 key_revoked.';
  return `The old key works until ${formatInstant(Date.now() + hours * HOUR_MS)}.`;
}
