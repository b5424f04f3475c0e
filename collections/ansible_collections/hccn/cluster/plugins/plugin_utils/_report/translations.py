# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The texts of a page in English and Chinese. Messages of tools, of the diagnosis and of findings are not translated."""

from __future__ import annotations

from typing import Any

from .model import Page

LANGUAGES = ("en", "zh")

TEXTS: dict[str, tuple[str, str]] = {
    # head
    "all_good": ("All {count} hosts are good.", "{count} 台主机全部正常。"),
    "one_good": ("The host is good.", "该主机正常。"),
    "some_bad": ("{bad} of {count} hosts are not good.", "{count} 台主机中有 {bad} 台不正常。"),
    "one_bad": ("1 of {count} hosts is not good.", "{count} 台主机中有 1 台不正常。"),
    "fabric_bad": ("{count} components of the fabric are not good.", "网络中有 {count} 个部件不正常。"),
    "fabric_one": ("1 component of the fabric is not good.", "网络中有 1 个部件不正常。"),
    "worse_one": ("1 value is worse than its baseline.", "有 1 项比基线差。"),
    "worse": ("{count} values are worse than their baseline.", "有 {count} 项比基线差。"),
    "concluded": ("Result: {result}. {count} hosts: {parts}.", "结论：{result}。{count} 台主机：{parts}。"),
    "concluded_one": ("Result: {result}. 1 host: {parts}.", "结论：{result}。1 台主机：{parts}。"),
    "concluded_none": ("Result: {result}.", "结论：{result}。"),
    "class_count": ("{count} {name}", "{name} {count} 台"),
    "between": (", ", "，"),
    "no_verdict": ("This run has no verdicts. Each host is listed with what was recorded about it.", "本次运行未作判定，以下为每台主机的记录。"),
    "nothing": ("No host has a result in this run.", "本次运行没有任何主机的结果。"),
    "incomplete": ("Incomplete. The run was interrupted; this page shows what was recorded until then.", "不完整：运行中途终止，以下为终止前的记录。"),
    "running": ("Written by the run itself, before it ended.", "由本次运行在结束前生成。"),
    "complete": ("complete", "完整"),
    "check_mode": ("check mode: nothing was changed", "检查模式：未作任何更改"),
    "run": ("Run", "运行"),
    # sections
    "verdict": ("Verdict", "结论"),
    "worst": ("Worst pairs", "最差的链路"),
    "maps": ("Pair matrix", "链路矩阵"),
    "rails": ("Rails: each NPU with all its peers", "轨道：每个 NPU 与其全部对端"),
    "leaves": ("Leaves: pairs between leaf switches", "Leaf 交换机之间的链路"),
    "trends": ("Trends and baseline", "趋势与基线"),
    "collectives": ("Collectives", "集合通信"),
    "latency": ("Latency", "时延"),
    "devices": ("Devices", "设备"),
    "coverage": ("Coverage", "覆盖范围"),
    "failures": ("Failures", "失败"),
    "about": ("About this run", "关于本次运行"),
    # classes
    "good": ("good", "正常"),
    "slow": ("slow", "慢"),
    "failed": ("failed", "失败"),
    "degraded": ("degraded", "降级"),
    "busy": ("busy", "被占用"),
    "unreachable": ("unreachable", "不可达"),
    "not_measured": ("not measured", "未测量"),
    "not_judged": ("not judged", "未判定"),
    "note": ("note", "提示"),
    "ok": ("ok", "成功"),
    "not_run": ("not run", "未运行"),
    "ignored": ("ignored", "已忽略"),
    # columns
    "c_severity": ("Severity", "级别"),
    "c_component": ("Component", "部件"),
    "c_next": ("Next step", "下一步"),
    "c_host": ("Host", "主机"),
    "c_class": ("Class", "类别"),
    "c_why": ("Reason", "原因"),
    "c_sender": ("Sender", "发送端"),
    "c_receiver": ("Receiver", "接收端"),
    "c_value": ("Value", "数值"),
    "c_share": ("Share of expected", "占预期值"),
    "c_evidence": ("Evidence", "依据"),
    "c_sent": ("As sender", "发送"),
    "c_received": ("As receiver", "接收"),
    "c_npu": ("NPU", "NPU"),
    "c_address": ("Address", "地址"),
    "c_tls": ("TLS", "TLS"),
    "c_link": ("Link", "链路状态"),
    "c_health": ("Health", "健康状态"),
    "c_optics": ("Optics", "光模块"),
    "c_counters": ("Counters", "计数器"),
    "c_link_downs": ("Link downs", "断链次数"),
    "c_errors": ("Errors", "错误"),
    "c_size": ("Size", "数据量"),
    "c_time": ("Time, µs", "耗时，µs"),
    "c_algbw": ("algbw, GB/s", "algbw，GB/s"),
    "c_busbw": ("busbw, GB/s", "busbw，GB/s"),
    "c_check": ("Check", "校验"),
    "c_what": ("Item", "项目"),
    "c_typical": ("Typical, µs", "典型，µs"),
    "c_average": ("Average, µs", "平均，µs"),
    "c_p99": ("99 %, µs", "99 %，µs"),
    "c_status": ("Status", "状态"),
    "c_where": ("Where", "位置"),
    "c_message": ("Message", "信息"),
    "c_task": ("Task", "任务"),
    "c_kind": ("Kind", "类型"),
    "c_before": ("Normal", "正常值"),
    "c_now": ("Now", "本次"),
    "c_drop": ("Worse by", "劣化幅度"),
    # the verdict
    "findings": ("Findings", "发现的问题"),
    "no_findings": ("No problem was found.", "未发现问题。"),
    "more_findings": ("{count} more findings are not shown here; see the history.", "另有 {count} 项未在此列出，详见历史记录。"),
    "output": ("Output of the tool", "工具输出"),
    "evidence": ("Evidence ({count})", "依据（{count}）"),
    "bad_hosts": ("Hosts that are not good ({count})", "不正常的主机（{count}）"),
    "good_hosts": ("Good", "正常的主机"),
    "component": ("(fabric)", "（网络）"),
    "probable": ("probable", "很可能"),
    "possible": ("possible", "可能"),
    "more_hosts": ("{count} more hosts are not shown here; see the history.", "另有 {count} 台主机未在此列出，详见历史记录。"),
    # the maps
    "map_caption": ("{metric}. Rows are senders, columns receivers, sorted by leaf and name.", "{metric}。行为发送端，列为接收端；按 Leaf 交换机、名称排序。"),
    "map_worst": ("A cell shows the worst pair of NPUs of the two hosts.", "每格为两台主机间最差的一对 NPU。"),
    "rails_caption": ("Rows are NPUs, columns hosts. A cell is the median of all pairs of that NPU.", "行为 NPU，列为主机；每格为该 NPU 全部链路的中位数。"),
    "leaves_caption": (
        "Rows are sending leaves, columns receiving leaves. A cell is the median of the pairs between two leaves.",
        "行为发送端所在的 Leaf 交换机，列为接收端所在的 Leaf 交换机；每格为两者之间链路的中位数。",
    ),
    "expected_history": ("100 % = {value}, the baseline", "100 % = {value}，基线"),
    "expected_line_rate": ("100 % = {value}, the line rate", "100 % = {value}，线速"),
    "expected_median": ("100 % = {value}, the median of this run", "100 % = {value}，本次运行的中位数"),
    "or_less": ("or less", "及以下"),
    "diagonal": ("itself", "自身"),
    "cell_failed": ("failed", "失败"),
    "cell_not_measured": ("not measured", "未测量"),
    "hover": ("To read a value, point at a cell or use the arrow keys.", "将指针移到格子上，或用方向键读取数值。"),
    "lowest_hosts": ("Hosts with the lowest medians", "中位数最低的主机"),
    "no_pairs": ("No pair was measured in this run.", "本次运行未测量任何链路。"),
    "others": ("median with other peers: {sender} as sender, {receiver} as receiver", "与其他对端的中位数：发送端 {sender}，接收端 {receiver}"),
    "reverse": ("reverse direction {value}", "反方向 {value}"),
    "no_others": ("neither endpoint has another peer in this run", "两端在本次运行中均无其他对端"),
    "more_pairs": ("The worst {shown} of {count} pairs are listed.", "共 {count} 条，列出最差的 {shown} 条。"),
    # trends
    "no_trends": ("No earlier run of the same kind is available for comparison.", "没有可比较的同类历史运行。"),
    "no_worse": ("Nothing is worse than its baseline.", "没有任何项目比基线差。"),
    "no_baseline": ("No baseline yet: {count} complete runs of the same kind are required.", "尚无基线：需要 {count} 次完整的同类运行。"),
    "baseline_line": ("baseline {value}, {count} runs", "基线 {value}（{count} 次运行）"),
    "baseline_pinned": ("pinned baseline {value}", "固定基线 {value}"),
    "limit_line": ("limit {value}", "下限 {value}"),
    "trend_legend": (
        "Solid: baseline. Dashed: limit. Small dots: worst pair of a run. Large dot: this run.",
        "实线：基线；虚线：下限；小点：单次运行的最差链路；大点：本次运行。",
    ),
    "level": ("step", "突变"),
    "drift": ("drift", "漂移"),
    # collectives, latency
    "no_collectives": ("No collective was measured in this run.", "本次运行未测量集合通信。"),
    "ranks": ("{ranks} ranks, {hosts} hosts", "{ranks} 个 rank，{hosts} 台主机"),
    "no_size": ("No size was measured.", "没有任何数据量的测量结果。"),
    "over_size": ("Bus bandwidth by data size, GB/s", "总线带宽随数据量的变化，GB/s"),
    "no_latency": ("No latency was measured in this run.", "本次运行未测量时延。"),
    "more_rows": ("{count} more are in the history of the run.", "另有 {count} 条，详见本次运行的历史记录。"),
    # devices
    "no_devices": ("No device was read in this run.", "本次运行未读取任何设备。"),
    "devices_all": ("NPUs: {count}. With unusual values: {odd}.", "NPU：{count} 个。异常：{odd} 个。"),
    "devices_hidden_odd": (
        "{count} more NPUs with unusual values are not listed; see the history.",
        "另有 {count} 个异常的 NPU 未列出，详见历史记录。",
    ),
    "devices_hidden": ("{count} NPUs without unusual values are not listed.", "其余 {count} 个 NPU 无异常，未列出。"),
    "unknown": ("unknown", "未知"),
    # coverage
    "cov_hosts": ("Hosts measured", "已测量主机"),
    "cov_pairs": ("Pairs of hosts measured", "已测量的主机对"),
    "cov_directions": ("Measurements of pairs", "链路测量次数"),
    "cov_failed": ("Pairs that failed", "失败的链路"),
    "cov_not_run": ("Pairs that were not run", "未运行的链路"),
    "cov_missing": ("Not measured", "未测量"),
    "cov_planned": ("Planned pairs of NPUs", "计划的 NPU 链路"),
    "cov_planned_is": ("{pairs} ({plan}): {measured} measured, {failed} failed, {not_run} not run, {not_measured} without any result",
                       "{pairs}（{plan}）：已测 {measured}，失败 {failed}，未运行 {not_run}，无结果 {not_measured}"),
    "cov_without": ("Planned pairs without any result", "已计划但无结果的链路"),
    "cov_left_out": ("Excluded from the plan", "未列入计划"),
    "cov_leaves": ("Leaf switches known", "已知 Leaf 交换机"),
    "cov_leaves_are": ("{leaves}, of {known} of {npus} NPUs", "{leaves} 台，覆盖 {npus} 个 NPU 中的 {known} 个"),
    "cov_pods": ("Super pods known", "已知超节点"),
    "inventory": ("inventory", "主机清单"),
    "lldp": ("LLDP", "LLDP"),
    "label": ("node labels", "节点标签"),
    "of": ("{one} of {all}", "{one} / {all}"),
    "kinds": ("Results by kind", "按类型统计的结果"),
    # failures
    "no_failures": ("No result, task or connection failed.", "没有失败的结果、任务或连接。"),
    "failed_results": ("Results that failed or could not be obtained", "失败或未能取得的结果"),
    "failed_tasks": ("Failed tasks, unreachable hosts and records that were not kept", "失败的任务、不可达的主机与未保留的记录"),
    "dropped": ("not kept", "未保留"),
    # about
    "state": ("State", "状态"),
    "started": ("Started", "开始"),
    "duration": ("Duration", "时长"),
    "playbook": ("Playbook", "Playbook"),
    "products": ("Products", "产品"),
    "tools": ("Tools", "工具"),
    "controller": ("Controller", "控制节点"),
    "skipped_lines": (
        "Lines of the history that could not be read: {bad}; of a kind unknown to this version: {unknown}.",
        "历史记录中无法读取的行：{bad}；本版本未知类型的行：{unknown}。",
    ),
    "unreadable": ("Files of the history that were skipped", "已跳过的历史文件"),
}


def translate(key: str, language: str, **values: Any) -> str:
    """Return a text in one language. An unknown key is a word of a record; it is returned with spaces instead of underscores."""
    found = TEXTS.get(key)
    if found is None or "{" in found[0] and not values:
        return key.replace("_", " ")
    return found[LANGUAGES.index(language)].format(**values)


def headline(page: Page, language: str) -> str:
    """Return the headline of a run: its conclusion, else its verdicts, and the number of regressions."""
    first = [_concluded(page, language)] if page.conclusion else _judged(page, language)
    regressions = [translate("worse_one" if page.regression_count == 1 else "worse", language, count=page.regression_count)] if page.regression_count else []
    return " ".join([*first, *regressions])


def _concluded(page: Page, language: str) -> str:
    result, count = translate(page.conclusion.result if page.conclusion else "", language), len(page.verdicts)
    if not count:
        return translate("concluded_none", language, result=result)
    parts = translate("between", language).join(
        translate("class_count", language, count=number, name=translate(name, language)) for name, number in page.classes.items())
    return translate("concluded_one" if count == 1 else "concluded", language, result=result, count=count, parts=parts)


def _judged(page: Page, language: str) -> list[str]:
    bad, count = len(page.bad), len(page.verdicts)
    if not count:
        first = translate("nothing", language)
    elif not page.judged:
        first = translate("no_verdict", language)
    elif bad:
        first = translate("one_bad", language, count=count) if bad == 1 else translate("some_bad", language, bad=bad, count=count)
    else:
        first = translate("one_good", language) if count == 1 else translate("all_good", language, count=count)
    return [first, *([translate("fabric_one" if len(page.fabric) == 1 else "fabric_bad", language, count=len(page.fabric))] if page.fabric else [])]
