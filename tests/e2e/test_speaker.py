# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker with FRR's daemons, frr-reloader, maglevd and BIRD as the peer: what the peer sees of a VIP."""
import os
import subprocess

import pytest

from lab import program, until
from lab.api import Status
from lab.speaker import THEIRS, Site


@pytest.fixture
def site():
    it = Site()
    yield it
    it.close()


# ---- a VIP follows its frontend ----

def test_a_route_follows_its_frontend(site):
    speaker = site.speak()
    route = site.bird.wait()
    assert (route['community'], route['med'], route['as_path']) == ('(64512,100)', '50', '64512')
    assert speaker.vip()['state'] == 'announced' and speaker.vip()['reason'] == 'frontend-up'
    site.all_down()
    site.bird.wait(there=False)
    assert speaker.vip()['reason'] == 'frontend-down' and speaker.vip()['culprit'] == 'a/www'
    site.servers.up(site.servers.addresses[0])
    site.bird.wait()
    assert speaker.wait('vip-transition', to='withdrawn')['reason'] == 'frontend-down'


def test_it_comes_back_after_min_up(site):
    speaker = site.speak(**{'min-up': '3s'})
    site.all_down()
    site.bird.wait(there=False)
    since = speaker.mark()
    site.servers.up(site.servers.addresses[0])
    speaker.wait_vip(state='withdrawn', reason='waiting')
    site.bird.wait()
    up = speaker.wait('vip-transition', since, to='announced')
    transitions = site.maglevd.all('frontend-transition', to='up')
    assert up['time'] > transitions[-1]['time']


def test_a_maglevd_that_is_gone_holds_the_route_for_a_time(site):
    speaker = site.speak(hold='5s')
    site.maglevd.kill()
    speaker.wait_vip(state='announced', reason='maglevd-unreachable')
    assert site.bird.route()
    site.bird.wait(there=False)
    assert speaker.vip()['reason'] == 'maglevd-lost'


def test_a_restart_of_maglevd_withdraws_nothing(site):
    speaker = site.speak(**{'min-servers': 2})
    port = site.maglevd.grpc_port()
    site.maglevd.kill()
    speaker.wait_vip(reason='maglevd-unreachable')
    site.restart_maglevd(port)
    speaker.wait_vip(state='announced', reason='frontend-up')
    assert site.bird.withdrawals() == 0
    assert not speaker.all('vip-transition', to='withdrawn')


def test_servers_that_are_not_probed_yet_withdraw_nothing(site):
    """The second server accepts connections and answers no request, so its first result takes the whole timeout."""
    speaker = site.speak(**{'min-servers': 2})
    port, config = site.maglevd.grpc_port(), site.servers.config()
    config['maglev']['healthchecks']['slow'] = {'type': 'http', 'port': site.servers.port, 'interval': '6s', 'timeout': '6s',
                                                'params': {'path': '/'}}
    config['maglev']['backends']['s2']['healthcheck'] = 'slow'
    site.maglevd.kill()
    site.maglevd.write(config)
    since = speaker.mark()
    site.restart_maglevd(port)
    speaker.wait('maglevd-connected', since)
    vip = speaker.vip()
    assert (vip['state'], vip['reason']) == ('announced', 'maglevd-unreachable')
    assert site.bird.withdrawals() == 0
    site.bird.wait(there=False)
    assert speaker.vip()['reason'] == 'few-servers'


def test_a_vip_is_announced_when_the_data_plane_has_it(site):
    """Servers are up at once, but nothing is written in the warm-up: packets would have nowhere to go."""
    site.maglevd.kill()
    site.maglevd.write(site.servers.config(warmup='2s'))
    mark = site.maglevd.mark()
    site.maglevd.start()
    speaker = site.speak()
    up = site.maglevd.wait('frontend-transition', mark, to='up')
    written = site.maglevd.wait('lb-sync-vip', mark)
    announced = speaker.wait('vip-transition', to='announced')
    assert up.at < written.at < announced.at


# ---- restarts ----

def test_a_restart_of_the_speaker_withdraws_nothing(site):
    speaker = site.speak()
    for end in (speaker.kill, speaker.stop):
        end()
        assert site.bird.route()
        speaker.start()
        assert speaker.wait('adopted', speaker._began)['vips'] == 1
        speaker.wait_vip(state='announced', reason='frontend-up')
    site.all_down()
    site.bird.wait(there=False)
    assert site.bird.withdrawals() == 1


def test_a_speaker_that_starts_while_all_is_down_withdraws(site):
    speaker = site.speak()
    speaker.kill()
    site.all_down()
    site.maglevd.wait('frontend-transition', to='down')
    speaker.start()
    site.bird.wait(there=False)


def test_a_restart_of_the_reloader_withdraws_nothing(site):
    speaker = site.speak()
    site.reloader.kill()
    since = speaker.mark()
    site.all_down()
    speaker.wait('frr-refused', since)
    assert site.bird.route() and not speaker.call('GetSpeaker')['frr']['current']
    site.reloader.start()
    site.bird.wait(there=False)
    site.servers.up(site.servers.addresses[0])
    site.bird.wait()
    assert site.bird.withdrawals() == 1


# ---- fewer servers, worse routes, drains ----

def test_too_few_servers(site):
    speaker = site.speak(**{'min-servers': 2})
    site.servers.down(site.servers.addresses[1])
    site.bird.wait(there=False)
    assert speaker.vip()['reason'] == 'few-servers'
    assert speaker.vip()['frontends'][0]['servers'] == 1
    site.servers.up(site.servers.addresses[1])
    site.bird.wait()


def test_worse_instead_of_withdrawn(site):
    speaker = site.speak(**{'when-down': 'worse', 'worse': {'med': 1000, 'prepend': 3}})
    site.all_down()
    until(lambda: site.bird.route()['med'] == '1000', what='a worse MED')
    assert site.bird.route()['as_path'] == '64512 64512 64512 64512'
    assert speaker.vip()['state'] == 'worse'
    site.servers.up(site.servers.addresses[0])
    until(lambda: site.bird.route()['med'] == '50', what='the usual MED')
    assert site.bird.withdrawals() == 0


def test_a_drain_moves_traffic_away_first(site):
    speaker = site.speak(**{'drain-time': '5s'})
    assert speaker.call('DrainVIP', vip='www', reason='new kernel')['state'] == 'draining'
    until(lambda: '(65535,0)' in (site.bird.route() or {}).get('community', ''), what='graceful shutdown at the peer')
    assert site.bird.withdrawals() == 0
    site.bird.wait(there=False)
    vip = speaker.vip()
    assert vip['reason'] == 'drained' and vip['drained'] and vip['drain_reason'] == 'new kernel' and not vip['attracts']
    assert vip['summary'] == 'withdrawn: drained, new kernel'
    vip = speaker.call('UndrainVIP', vip='www')
    assert (vip['state'], vip['drained'], vip['drain_reason'], vip['drained_at']) == ('announced', False, '', '0')
    assert site.bird.wait()['community'] == '(64512,100)'
    for method in ('DrainVIP', 'UndrainVIP', 'GetAnnouncement'):
        speaker.api.refused(method, Status.NOT_FOUND, 'no VIP is called "none"', vip='none')


# ---- the file ----

def test_a_file_with_mistakes_changes_nothing(site):
    speaker = site.speak()
    since = speaker.reload('speaker: { router: { asn: 0 } }')
    assert speaker.wait('config-error', since)['key'] == 'speaker.router.asn'
    speaker.wait('config-reload-failed', since, phase='semantic')
    speaker.wait_metric('maglev_speaker_config_reloads_total', 1, result='failure')
    assert site.bird.withdrawals() == 0 and site.bird.route()
    since = speaker.reload(address='198.51.100.11')
    speaker.wait('config-loaded', since)
    site.bird.wait('198.51.100.11/32')
    site.bird.wait(there=False)


def test_the_example_passes_the_check():
    path = os.path.join(os.path.dirname(__file__), '../../deploy/examples/speaker.yaml')
    done = subprocess.run([program('maglev-speaker'), '--check', '--config', path], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f'{path}: ok\n', '')


def test_check_has_an_exit_status(folders):
    path = os.path.join(folders(), 'speaker.yaml')
    for text, status in (('speaker: { router: { asn: 1 } }', 0), ('speaker: { router: [] }', 1),
                         ('speaker: { router: { asn: 0 } }', 2)):
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        done = subprocess.run([program('maglev-speaker'), '--check', '--config', path], capture_output=True, text=True)
        assert done.returncode == status
        assert (f'{path}:1:' in done.stderr) == (status > 0)


# ---- what it shows ----

def test_sessions_and_metrics(site):
    speaker = site.speak()
    assert speaker.get('/readyz') == (200, 'ok\n')
    until(lambda: speaker.session()['prefixes_sent'] == '1', what='the session in the state')
    session = speaker.session()
    assert session['peer'] == 'tor' and session['up'] and session['state'] == 'Established'
    assert (session['address'], session['asn'], session['vrf'], session['bfd']) == (THEIRS, '64513', '', '')
    metrics = speaker.metrics()
    assert metrics.one('metallb_bgp_session_up', peer=f'{THEIRS}:179', vrf='') == 1
    assert metrics.one('metallb_bgp_announced_prefixes_total', peer=f'{THEIRS}:179', vrf='') == 1
    assert metrics.one('maglev_speaker_vip_state', vip='www', state='announced', reason='frontend-up') == 1
    assert metrics.one('maglev_speaker_maglevd_connected', maglevd='a') == 1
    site.bird.kill()
    speaker.wait('session-down', peer='tor')
    speaker.wait_metric('metallb_bgp_session_up', 0, peer=f'{THEIRS}:179', vrf='')


def test_bgpd_is_told_again_after_its_restart(site):
    speaker = site.speak()
    site.frr.kill('bgpd')
    until(lambda: speaker.call('GetSpeaker')['problem'], what='a problem in the state')
    since = speaker.mark()
    site.frr.start_daemon('bgpd')
    site.frr.load(site.frr.saved())  # as watchfrr does
    speaker.wait('bgpd-restarted', since)
    speaker.wait('frr-applied', since)
    until(lambda: site.bird.is_established('speaker') and site.bird.route(), what='the route after the restart')
