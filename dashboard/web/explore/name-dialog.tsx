import { type ReactNode, useState } from 'react';
import { FormDialog } from '../forms/form-dialog.tsx';
import { TextField } from '../forms/inputs.tsx';

interface NameDialogProps {
  readonly onName: (name: string) => void;
  readonly onClose: () => void;
}

/** Asks for the name of a view. */
export function NameDialog({ onName, onClose }: NameDialogProps): ReactNode {
  const [name, setName] = useState('');
  return (
    <FormDialog
      size="small"
      title="Save this view"
      submit="Save view"
      onSubmit={() => {
        onName(name.trim());
        onClose();
      }}
      onClose={onClose}
    >
      <TextField label="Name" required maxLength={60} value={name} onChange={setName} />
    </FormDialog>
  );
}
