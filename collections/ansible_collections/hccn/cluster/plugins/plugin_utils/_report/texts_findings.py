# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The texts of findings on the page: a title for each cause in English and Chinese, next steps and evidence in Chinese."""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, tuple[str, str]] = {
    # State of a device.
    "link_down": ("Link down", "链路断开"),
    "no_such_device": ("No such NPU", "NPU 不存在"),
    "tool_missing": ("Driver tools missing", "缺少驱动工具"),
    "perf_tool_missing": ("Measuring tool missing", "缺少测量工具"),
    "tool_failed": ("Driver tool failed", "驱动工具执行失败"),
    "device_error": ("NPU error", "NPU 故障"),
    "address_not_set": ("Address not set", "未配置地址"),
    "address_invalid": ("Invalid address", "地址无效"),
    "address_conflict": ("Address conflict", "地址冲突"),
    # hccn.conf.
    "conf_differs": ("hccn.conf differs from the device", "hccn.conf 与设备不一致"),
    "conf_problem": ("Problem in hccn.conf", "hccn.conf 有误"),
    # Comparison of hosts.
    "machine_listed_twice": ("Machine listed twice", "同一机器重复登记"),
    "serial_duplicate": ("Duplicate serial number", "序列号重复"),
    "tls_differs": ("TLS differs", "TLS 设置不一致"),
    "tls_not_set": ("TLS not set", "TLS 未能设置"),
    "no_certificate": ("No TLS certificate", "缺少 TLS 证书"),
    "mtu_differs": ("MTU differs", "MTU 不一致"),
    "speed_differs": ("Link speed differs", "链路速率不一致"),
    "driver_differs": ("Driver differs", "驱动版本不一致"),
    "firmware_differs": ("Firmware differs", "固件版本不一致"),
    "cann_differs": ("CANN differs", "CANN 版本不一致"),
    "qos_differs": ("PFC or DSCP differs", "PFC 或 DSCP 设置不一致"),
    "gid_differs": ("GID type differs", "GID 类型不一致"),
    "changed_since": ("Changed since the last run", "自上次运行以来有变化"),
    # Ports and cabling.
    "optics_out_of_range": ("Optics out of range", "光模块参数超限"),
    "optics_dim": ("Dim optics", "光模块接收功率偏低"),
    "errors_growing": ("Errors growing", "误码增加"),
    "link_flaps": ("Link flaps", "链路闪断"),
    "cable_swapped": ("Cables swapped", "线缆接反"),
    "cabling_differs": ("Cabling differs", "接线不一致"),
    # A host.
    "unreachable_host": ("Host unreachable", "主机不可达"),
    "failed_task": ("Task failed", "任务失败"),
    # The fabric.
    "slow_npu": ("Slow NPU", "NPU 慢"),
    "failed_npu": ("NPU fails", "NPU 通信失败"),
    "slow_host": ("Slow host", "主机慢"),
    "failed_host": ("Host fails", "主机通信失败"),
    "busy_npu": ("NPU in use", "NPU 被占用"),
    "busy_host": ("Host in use", "主机被占用"),
    "not_measured": ("Not measured", "未测量"),
    "answer_not_understood": ("Answer not understood", "无法解析主机的返回结果"),
    "slow_fabric": ("Slow part of the fabric", "网络部分区域慢"),
    "failed_fabric": ("Part of the fabric fails", "网络部分区域不通"),
    "regression": ("Slower than its baseline", "低于基线"),
    # Rank table and collective.
    "rank_table_problem": ("Rank table refused", "rank table 不符合要求"),
    "collective_failed": ("Collective failed", "集合通信失败"),
    "collective_slow": ("Slow collective", "集合通信慢"),
    "collective_skipped": ("Collective skipped", "未运行集合通信"),
    # The job itself.
    "resume_refused": ("Run cannot be resumed", "无法续跑"),
    "no_report": ("No report", "未生成报告"),
    "no_hosts": ("No hosts", "没有主机"),
    "unknown_variable": ("Unknown variable", "未知变量"),
    "invalid_variable": ("Invalid variable", "变量无效"),
    "requirement_missing": ("Requirement missing", "缺少依赖"),
}

INTRODUCTIONS: tuple[tuple[str, str], ...] = (
    # An introduction of a command and its translation; {host} is replaced.
    (r"On (?P<host>[^:]+): ", "在 {host} 上执行："),
    (r"When the job has ended: ", "作业结束后执行："),
    (r"When the other run or job has ended: ", "其他运行或作业结束后执行："),
    (r"Repair the hosts that failed or exclude them with hccn_hosts, then run: ", "修复失败的主机或用 hccn_hosts 将其排除，然后执行："),
    (r"Exchange the two cables, then: ", "对调两根线缆，然后执行："),
    (r"Enable the callback: ", "启用回调插件："),
)

STEPS: tuple[tuple[str, str], ...] = (
    # A next step in words and its translation; groups of the pattern are replaced.
    (r"Install the driver on (?P<host>.+), or set hccn_tool and npu_smi to the paths of the tools",
     "在 {host} 上安装驱动，或将 hccn_tool、npu_smi 设为工具的路径"),
    (r"Remove one of (?P<host>.+) from the inventory", "从主机清单中删除 {host} 之一"),
    (r"Read the message of the task above", "查看上面任务的信息"),
    (r"Compare the clock, the tools and their versions of (?P<host>.+) with those of the other hosts", "将 {host} 的时钟、工具及其版本与其他主机比较"),
    (r"Compare the ports, PFC, ECN and MTU of the switches on it with those of another one", "将其上交换机的端口、PFC、ECN、MTU 与其他交换机比较"),
    (r"Check the links, routes and access lists of the switches on it", "检查其上交换机的链路、路由和访问控制列表"),
    (r"Read docs/howto/rank_table_refused.rst", "阅读 docs/howto/rank_table_refused.rst"),
    (r"Search docs/troubleshooting.rst for the text of the error", "在 docs/troubleshooting.rst 中查找该错误信息"),
    (r"Run again without check_fabric_resume to measure all pairs", "不带 check_fabric_resume 重新运行，测量全部链路"),
    (r"Install or enable what the message names", "安装或启用信息中提到的内容"),
    (r"Install the same CANN toolkit on (?P<host>.+)", "在 {host} 上安装相同的 CANN 工具包"),
    (r"On (?P<host>[^:]+): (?P<command>hccn_tool .+|show_gids), then clean or exchange the module or its fiber",
     "在 {host} 上执行 {command}，然后清洁或更换光模块或光纤"),
    (r"On (?P<host>[^:]+): show_gids, or read rdma_info", "在 {host} 上执行 show_gids，或查看 rdma_info"),
    (r"Compare the cable of NPU (?P<device>\S+) of (?P<host>.+) with the cabling plan", "将 {host} 的 NPU {device} 的线缆与布线图核对"),
    (r"(?P<first>On .+: npu-smi info), and read (?P<log>/\S+)", "{first}，并查看 {log}"),
)

_AS = r"(?P<direction> as source| as target)?"
_DROP = r"(?:, (?P<drop>[\d.e+]+) % below normal)?"
_NOTE = r"(?:: (?P<note>.+))?"

MESSAGES: tuple[tuple[str, str], ...] = (
    # A message and its translation; see translations.sentence. A part in brackets is left out if one of its groups is empty.
    (r"(?:the |its )?link is down", "链路断开"),
    (rf"(?:it|NPU \d+) is slow{_AS} with (?P<hits>\d+) of (?P<tested>\d+) proven-good partners(?:: (?P<partners>.+?))?{_DROP}",
     "[{direction}]与 {tested} 个已确认正常的对端中的 {hits} 个通信慢[，比正常值低 {drop} %][（{partners}）]"),
    (rf"(?:it|NPU \d+) fails{_AS} with (?P<hits>\d+) of (?P<tested>\d+) proven-good partners(?:: (?P<partners>.+))?",
     "[{direction}]与 {tested} 个已确认正常的对端中的 {hits} 个通信失败[（{partners}）]"),
    (rf"(?:it|NPU \d+) is slow{_AS} with (?P<partners>.+?){_DROP}", "[{direction}]与 {partners} 通信慢[，比正常值低 {drop} %]"),
    (rf"(?:it|NPU \d+) fails{_AS} with (?P<partners>.+)", "[{direction}]与 {partners} 通信失败"),
    (rf"(?:all )?(?P<npus>\d+) NPUs are slow{_AS} with (?P<hits>\d+) of (?P<tested>\d+) proven-good partners(?:: (?P<partners>.+?))?{_DROP}",
     "{npus} 个 NPU [{direction}]与 {tested} 个已确认正常的对端中的 {hits} 个通信慢[，比正常值低 {drop} %][（{partners}）]"),
    (rf"(?:all )?(?P<npus>\d+) NPUs fail{_AS} with (?P<hits>\d+) of (?P<tested>\d+) proven-good partners(?:: (?P<partners>.+))?",
     "{npus} 个 NPU [{direction}]与 {tested} 个已确认正常的对端中的 {hits} 个通信失败[（{partners}）]"),
    (rf"(?P<bad>\d+) of its pairs are slow{_AS}{_DROP}{_NOTE}", "其中 {bad} 条链路慢[，比正常值低 {drop} %][：{note}]"),
    (rf"(?P<bad>\d+) of its pairs fail{_AS}{_NOTE}", "其中 {bad} 条链路不通[：{note}]"),
    (rf"(?:is|are) slow{_AS}{_DROP}{_NOTE}", "慢[，比正常值低 {drop} %][：{note}]"),
    (rf"fails?{_AS}{_NOTE}", "不通[：{note}]"),
    (r"(?:NPUs? (?P<npus>[\d, -]+) )?failed with all of its partners", "[NPU {npus} ]与全部对端通信失败"),
    (r"NPUs? (?P<npus>[\d, -]+) (?:was|were) left out: (?P<note>.+)", "NPU {npus} 未列入计划：{note}"),
    (r"(?P<good>\d+) good pairs? with (?P<hosts>\d+) other hosts?, (?P<low>\S+) to (?P<high>.+)", "与其他 {hosts} 台主机的 {good} 条链路正常，{low} 至 {high}"),
    (r"its pairs are bad because of (?P<names>.+)", "其链路异常由以下部件引起：{names}"),
    (r"the run did not begin on this host: (?P<note>.+)", "运行未能在该主机上开始：{note}"),
    (r"the run on this host was ended: (?P<note>.+)", "该主机上的运行被终止：{note}"),
    (r"the run on this host failed: (?P<note>.+)", "该主机上的运行失败：{note}"),
    (r"the run did not start, or was ended, on its partners: (?P<names>.+)", "其对端上的运行未开始或被终止：{names}"),
    (r"slightly low, which proves no fault: (?P<names>.+)", "略低，但不能证明有故障：{names}"),
    (r"left out: (?P<note>.+)", "未列入计划：{note}"),
    (r"bad pairs attributed to (?:the partner|its partners|[^:]+): (?P<count>\d+)", "归因于对端的异常链路：{count} 条"),
    (r"NPUs? (?P<npus>[\d, -]+) (?:is|are) at work, pid (?P<pid>.+)", "NPU {npus} 正在被进程 {pid} 使用"),
    (r"it is at work, pid (?P<pid>.+)", "正在被进程 {pid} 使用"),
    (r"(?P<names>.+ NPUs? [\d, -]+): (?P<note>its link is down|it is at work, pid .+)", "{names}：{note}"),
    (r"Ansible did not reach (?:it|the host): (?P<note>.+)", "Ansible 无法连接该主机：{note}"),
    (r"(?P<now>[\d.]+) (?P<unit>\S+), (?P<drop>[\d.]+) % below the baseline of (?P<before>[\d.]+)", "{now} {unit}，比基线 {before} 低 {drop} %"),
    (r"(?:both|all (?P<count>\d+)) have the address (?P<address>\S+)", "地址同为 {address}"),
    (r"they have the same serial number, (?P<serial>.+)", "序列号相同：{serial}"),
    (r"they are the same machine according to (?P<note>.+)", "根据 {note}，它们是同一台机器"),
    (r"the host returned no result", "主机没有返回结果"),
    (r"(?P<option>TLS|the MTU|the link speed|the driver|the firmware) is (?P<value>.+), that of (?P<most>\d+) other NPUs is (?P<usual>.+)",
     "{option}为 {value}，其他 {most} 个 NPU 为 {usual}"),
    (r"its MTU is (?P<value>\d+), that of most hosts (?P<usual>\d+)", "MTU 为 {value}，多数主机为 {usual}"),
    (r"a host is busy", "有主机被占用"),
    (r"the collective over all hosts is slower(?: than the limit of (?P<limit>[\d.]+) GB/s)?", "全部主机的集合通信偏慢[，低于下限 {limit} GB/s]"),
    (r"(?P<names>.+): not in the plan", "{names}：未列入计划"),
    (r"(?P<rounds>\S+) rounds, (?P<pairs>\S+) pairs: excluded, the plan exceeds its budget", "{rounds} 轮、{pairs} 条链路：超出计划的时间预算，未列入"),
    (r"Nothing was measured on this host in this run\.?", "本次运行未在该主机上测量"),
    (r"(?P<ok>\d+) of (?P<all>\d+) results are successful measurements; there is no verdict\.?", "{all} 项结果中有 {ok} 项测量成功，未作判定"),
    (r"(?P<bad>\d+) of (?P<all>\d+) results failed, the last: (?P<note>.+)", "{all} 项结果中有 {bad} 项失败，最后一项：{note}"),
    (r"Task (?P<task>[^:]+): (?P<note>.+)", "任务 {task}：{note}"),
)

WORDS: Mapping[str, str] = {
    " as source": "作为发送端", " as target": "作为接收端", "the MTU": "MTU ", "the link speed": "链路速率", "the driver": "驱动", "the firmware": "固件",
    "TLS": "TLS ", "on": "开启", "off": "关闭",
}
"""Translations of the texts of groups."""

EVIDENCE: Mapping[str, str] = {
    # By the codes of _findings/evidence.py.
    "rx_power_low": "{host} 的 NPU {device}：通道 {lane} 接收功率 {value_mw} mW，低于光模块下限 {limit_mw} mW",
    "rx_power_high": "{host} 的 NPU {device}：通道 {lane} 接收功率 {value_mw} mW，高于光模块上限 {limit_mw} mW",
    "tx_power_low": "{host} 的 NPU {device}：通道 {lane} 发送功率 {value_mw} mW，低于光模块下限 {limit_mw} mW",
    "tx_power_high": "{host} 的 NPU {device}：通道 {lane} 发送功率 {value_mw} mW，高于光模块上限 {limit_mw} mW",
    "rx_power_dim": "{host} 的 NPU {device}：通道 {lane} 接收功率 {value_mw} mW，比其他 {peers} 个 NPU 的中位数（{median_mw} mW）低 {below_db} dB",
    "optics_hot": "{host} 的 NPU {device}：光模块温度 {value_c} °C，上限 {limit_c} °C",
    "optics_voltage": "{host} 的 NPU {device}：光模块电压 {value_mv} mV，允许范围 {low_mv} 至 {high_mv} mV",
    "optics_absent": "{host} 的 NPU {device}：光模块不在位",
    "counter_grew": "{host} 的 NPU {device}：运行期间 {counter} 增加 {growth}（由 {before} 至 {after}）",
    "counter_high": "{host} 的 NPU {device}：{counter} 为 {value}，其他 {peers} 个 NPU 的中位数为 {median}",
    "pfc_grew": "{host} 的 NPU {device}：运行期间 {counter} 增加 {growth}，其他 {peers} 个 NPU 的中位数为 {median}",
    "link_flapped": "{host} 的 NPU {device}：运行期间链路中断 {growth} 次",
    "link_flaps": "{host} 的 NPU {device}：自上次复位以来链路中断 {downs} 次，其他 {peers} 个 NPU 为 {median} 次",
    "link_change": "{host} 的 NPU {device}：链路最近一次于 {time} 变为 {state}",
    "switch_port": "{host} 的 NPU {device} 连接到 {switch} 的端口 {port}",
    "expected_switch": "{host} 的 NPU {device} 应连接到 {switch}：{why}",
    "expected_port": "{host} 的 NPU {device} 应连接到 {switch} 的端口 {port}：{why}",
    "differs": "{host}：{setting} 为 {value}，其他 {count} 个为 {usual}",
    "changed": "{host}：{setting} 在 {time} 的运行中为 {before}，现为 {after}",
    "versions": "{host} 的 NPU {device}：驱动 {driver}，固件 {firmware}",
    "ping_lost": "{host} 的 NPU {device} 到 {to_host} 的 NPU {to_device}：{sent} 次 ping 丢失 {lost} 次",
    "ping_slow": "{host} 的 NPU {device} 到 {to_host} 的 NPU {to_device}：{value_ms} ms，{peers} 条链路的中位数为 {median_ms} ms",
    "ping_failed": "{host} 的 NPU {device} 到 {to_host} 的 NPU {to_device}：{reason}",
}

COMPONENTS: tuple[tuple[str, str], ...] = (
    (r"cluster",
     "集群"), (r"run", "本次运行"), (r"path (?P<name>.+)", "路径 {name}"), (r"leaf (?P<name>.+)", "Leaf {name}"), (r"rail (?P<name>.+)", "轨道 {name}"),
    (r"(?P<names>.+) \.\.\. \((?P<count>\d+) hosts\)(?P<rest>: .+)?", "{names} 等 {count} 台主机[{rest}]"),
    (r"(?P<names>.+) and (?P<count>\d+) more", "{names} 等，另有 {count} 项"),
)
"""Names of components that are words."""

PAIRS: tuple[tuple[str, str], ...] = (
    # Lines about measured pairs, and links as evidence.
    (r"(?P<source>.+ NPU \d+) to (?P<target>.+ NPU \d+): (?P<value>[\d.]+ \S+), normal is (?P<normal>.+)",
     "{source} 到 {target}：{value}，正常值 {normal}"),
    (r"(?P<source>.+ NPU \d+) to (?P<target>.+ NPU \d+): (?P<value>[\d.]+ \S+), the floor is (?P<normal>.+)",
     "{source} 到 {target}：{value}，下限 {normal}"),
    (r"(?P<source>.+ NPU \d+) to (?P<target>.+ NPU \d+): failed(?:: (?P<note>.+))?", "{source} 到 {target}：失败[：{note}]"),
    (r"On (?P<host>.+): (?P<command>.+) says (?P<note>.+)", "{host} 上 {command} 的输出：{note}"),
)

DOCUMENTATION = "https://github.com/hccn-cluster/hccn.cluster/blob/main/docs/"
PAGES: Mapping[str, str] = {
    **dict.fromkeys(("slow_npu", "slow_host", "slow_fabric", "regression"), "howto/slow_link.rst"),
    **dict.fromkeys(("tls_differs", "tls_not_set", "no_certificate"), "howto/tls_mismatch.rst"),
    "rank_table_problem": "howto/rank_table_refused.rst",
    "collective_failed": "troubleshooting.rst",
}
CAUSES_PAGE = "explanation/findings.rst#causes"
"""The pages of causes in the folder docs of the project; CAUSES_PAGE for all others."""
