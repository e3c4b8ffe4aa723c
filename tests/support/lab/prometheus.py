# SPDX-License-Identifier: Apache-2.0
"""A Prometheus that scrapes daemons of a story."""
import json
import os
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from lab.ports import free_port
from lab.process import DIE_WITH_PARENT
from lab.wait import PATIENCE, until


class Prometheus:
    """jobs: {job: port}. rules: files with alerts."""

    def __init__(self, folder, jobs, rules=()):
        os.makedirs(folder, exist_ok=True)
        self.port, config = free_port(), os.path.join(folder, 'prometheus.yml')
        with open(config, 'w', encoding='utf-8') as file:
            json.dump({'global': {'scrape_interval': '1s', 'evaluation_interval': '1s'}, 'rule_files': list(rules),
                       'scrape_configs': [{'job_name': job, 'static_configs': [{'targets': [f'127.0.0.1:{port}']}]}
                                          for job, port in jobs.items()]}, file)  # JSON is YAML
        self.log = open(os.path.join(folder, 'log'), 'w', encoding='utf-8')
        self.process = subprocess.Popen([*DIE_WITH_PARENT, 'prometheus', f'--config.file={config}', f'--storage.tsdb.path={folder}/data',
                                         f'--web.listen-address=127.0.0.1:{self.port}'], stdout=self.log, stderr=self.log)
        self.jobs = set(jobs)

    def ask(self, path, **parameters):
        """The data of an answer; None while it does not answer. A query that is refused is an error."""
        url = f'http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}'
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return json.load(answer)['data']
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None
            raise AssertionError(f'{parameters}: {error.read().decode()}') from error
        except OSError:
            return None

    def query(self, text):
        """[(labels, value)]"""
        data = self.ask('query', query=text) or {'result': []}
        return [(one['metric'], float(one['value'][1])) for one in data['result']]

    def wait_scraped(self, times):
        """Each job was scraped so often, and answered."""
        def scraped():
            found = self.query(f'sum_over_time(up[1m]) >= {times}')
            return {labels['job'] for labels, _ in found} == self.jobs
        until(scraped, 2 * PATIENCE, f'{times} scrapes of {self.jobs}')

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()
