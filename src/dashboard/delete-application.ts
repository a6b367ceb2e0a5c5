import { htmlResponse } from '../http/html-response.ts';
import { redirect } from '../http/response.ts';
import { deleteApplicationPage } from '../pages/delete-application.ts';
import { applicationPath, requireEditableApp } from './require-owned-app.ts';

/** GET /dashboard/apps/:client_id/delete */
export const confirmDeletion = requireEditableApp((_app, { application: { clientId, name }, frame }) =>
  htmlResponse(deleteApplicationPage({ frame, clientId, name })),
);

/** POST /dashboard/apps/:client_id/delete */
export const deleteApplication = requireEditableApp(
  async (_app, { application, applications, form, frame }) => {
    const { clientId, name } = application;
    const typed = form.get('name') ?? '';
    if (asDisplayed(typed) !== asDisplayed(name)) {
      const error = 'This is not its name. Nothing was deleted.';
      return htmlResponse(deleteApplicationPage({ frame, clientId, name, typed, error }), { status: 400 });
    }
    // Renamed or deleted since it was read: the page asks again, or is 404.
    if (!(await applications.delete(clientId, name))) return redirect(`${applicationPath(clientId)}/delete`);
    return redirect('/dashboard?done=deleted', { clientId, reason: 'deleted' });
  },
);

/** Compared as it looks on the page: white space collapses, and a character can be encoded in two ways. */
const asDisplayed = (name: string): string => name.normalize('NFC').replaceAll(/\s+/g, ' ').trim();
