from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        super(ActionModule, self).run(tmp, task_vars)
        if 'text' not in self._task.args:
            raise AnsibleActionFail('text is missing')
        return {'changed': True, 'told': self._task.args['text'].upper()}
