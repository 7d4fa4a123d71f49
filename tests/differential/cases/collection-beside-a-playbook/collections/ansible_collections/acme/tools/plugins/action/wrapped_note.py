from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        if self._task.args.get('refuse'):
            result.update(failed=True, msg='refused by the action plugin')
            return result
        args = dict(self._task.args)
        args['from_action'] = task_vars['inventory_hostname'] + '/' + str(self._task.check_mode)
        result.update(self._execute_module(module_name='acme.tools.wrapped_note', module_args=args, task_vars=task_vars))
        shell = self._low_level_execute_command('echo $((20 + 1)); exit 5')
        result['shell'] = [shell['rc'], shell['stdout_lines']]
        stat = self._execute_module(module_name='ansible.legacy.stat', module_args={'path': '/'}, task_vars=task_vars)
        result['isdir'] = stat['stat']['isdir']
        return result
