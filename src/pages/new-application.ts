import { type ApplicationErrors, type ApplicationInput, applicationFields } from './application-form.ts';
import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { crumbs, csrfField, moment, notice } from './parts.ts';

export type NewApplicationProps = {
  readonly frame: Frame;
  /** Names this form: sent twice it makes one application. */
  readonly formId: string;
  readonly input: ApplicationInput;
  readonly errors?: ApplicationErrors;
  /** Given when the limit is reached. */
  readonly limit?: { readonly most: number; readonly nextAt: number; readonly minutes: number };
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

function limitReached({ most, nextAt, minutes }: NonNullable<NewApplicationProps['limit']>): Html {
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`;
  return html`Nothing was created: ${most === 1 ? 'one application' : `${most} applications`} an hour is the most. The next one is possible in ${wait}, at ${moment(nextAt)}. What you entered is kept below.`;
}
