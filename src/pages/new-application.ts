import { type ApplicationErrors, type ApplicationInput, applicationFields } from './application-form.ts';
import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { crumbs, csrfField, moment, notice } from './parts.ts';

export type NewApplicationProps = {
  readonly frame: Frame;
  /** Identifies the form, so that posting it twice creates one application. */
  readonly formId: string;
  readonly input: ApplicationInput;
  readonly errors?: ApplicationErrors;
  /** Set when the creation limit is reached. */
  readonly limit?: { readonly max: number; readonly nextAt: number; readonly minutes: number };
};

export function newApplicationPage({ frame, formId, input, errors, limit }: NewApplicationProps): Html {
  return shellLayout(
    'New application',
    'dashboard',
    frame,
    html`${crumbs([['/dashboard', 'Applications']], 'New')}
<h1>New application</h1>
${errors && notice('error', 'Nothing was created yet. Please correct what is marked below.')}
${limit && notice('error', limitReached(limit))}
<form class="panel" method="post" action="/dashboard/apps/new">
<div class="body stack">
${csrfField(frame.csrfToken)}
<input type="hidden" name="form_id" value="${formId}">
${applicationFields(input, errors)}
</div>
<footer class="actions">
<button class="primary">Create application</button>
<a class="button" href="/dashboard">Cancel</a>
</footer>
</form>`,
  );
}

function limitReached({ max, nextAt, minutes }: NonNullable<NewApplicationProps['limit']>): Html {
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`;
  return html`Nothing was created: ${max === 1 ? 'one application' : `${max} applications`} an hour is the most. The next one is possible in ${wait}, at ${moment(nextAt)}. What you entered is kept below.`;
}
