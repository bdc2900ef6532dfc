"""SimpleSSD: the keys of its sections. Source: `*/config.cc` at 2be3716, SimpleSSD-Standalone at 8255367."""

from __future__ import annotations

from nandlab.importing.keys import Key, count, differs, taken, told, unused

_LINK = "device.link.read_mb_s device.link.write_mb_s"
_BUFFER = "buffer.lru.size"
_JOB = "workload.fio"
_TYPES = "device.timing.read_us device.timing.page_types"
_PROGRAMS = "device.timing.program_us device.timing.page_types"
_CPU = "no instructions of firmware here; host.firmware_us is a time for each request"
_PREFETCH = "no reads ahead here"
_DRAM = "no times of a DRAM here; a buffer answers at once"
_IMAGE = "`nandlab disk` keeps contents in an image"
_LOOP = "the controller takes each request at once"

CPU = {
    "ClockSpeed": told(400_000_000, _CPU),
    "HILCoreCount": told(1, _CPU),
    "ICLCoreCount": told(1, _CPU),
    "FTLCoreCount": told(1, _CPU),
}

_CONTROLLER: dict[str, Key] = {
    "AXIBusWidth": unused(2, "the link is slower"),
    "AXIClock": unused(250_000_000, "the link is slower"),
    "WorkInterval": told(50_000, _LOOP),
    "MaxRequestCount": told(4, _LOOP),
    "LBASize": told(512, "sectors of 512 bytes here", 512),
    "EnableDiskImage": unused(False, _IMAGE),
    "StrictSizeCheck": unused(False, _IMAGE),
    "DiskImageFile": unused("", _IMAGE),
    "UseCopyOnWriteDisk": unused(False, _IMAGE),
}
NVME = {
    "PCIEGeneration": differs(2, _LINK, "the rate of its lanes after their code").one_of("0", "1", "2"),
    "PCIELane": count(4, _LINK),
    "FIFOTransferUnit": unused(4096, "a request's data move in one piece"),
    "MaxIOCQueue": unused(16, "queues of the interface"),
    "MaxIOSQueue": unused(16, "queues of the interface"),
    "WRRHigh": unused(2, "one queue"),
    "WRRMedium": unused(2, "one queue"),
    "DefaultNamespace": told(1, "one name space here", 1),
    **_CONTROLLER,
}
SATA = {
    key: unused("", "the interface is not SATA")
    for key in ("PCIEGeneration", "PCIELane", "SATAMode", *_CONTROLLER)
}
UFS = {key: unused("", "the interface is not UFS") for key in ("MPHYMode", "MPHYLane", *_CONTROLLER)}

PAL = {
    "Channel": count(8, "device.shape.channels"),
    "Package": differs(4, "device.shape.dies_per_channel", "packages x dies").within(1),
    "Die": differs(2, "device.shape.dies_per_channel", "packages x dies").within(1),
    "Plane": count(1, "device.shape.planes_per_die"),
    "Block": count(512, "device.shape.blocks_per_plane"),
    "Page": count(512, "device.shape.pages_per_block"),
    "PageSize": taken(16384, "device.shape.page_bytes").within(512, 1 << 20),
    "EnableMultiPlaneOperation": differs(
        True, "device.timing.plane_overlap", "the pages of one request, not always"
    ),
    "NANDType": taken(1, "device.rules.bits_per_cell").one_of("0", "1", "2"),
    "LSBRead": taken(40_000_000, _TYPES).within(1),
    "LSBWrite": taken(500_000_000, _PROGRAMS).within(1),
    "CSBRead": taken(0, _TYPES),
    "CSBWrite": taken(0, _PROGRAMS),
    "MSBRead": taken(65_000_000, _TYPES),
    "MSBWrite": taken(1_300_000_000, _PROGRAMS),
    "Erase": taken(3_500_000_000, "device.timing.erase_us").within(1),
    "DMASpeed": taken(400, "device.timing.transfer_ns_per_byte").within(1),
    "DMAWidth": taken(8, "device.timing.transfer_ns_per_byte").one_of("8", "16"),
    "SuperblockSize": told("", "a block is collected by itself here; ftl.superpage puts planes together", ""),
    "PageAllocation": told("CWDP", "pages go to dies in turn here, over channels first", "CWDP"),
    "Voltage": unused(3300, "energies are for each operation here: [device.energy]"),
    "ReadCurrent": unused(25_000, "as Voltage"),
    "ProgramCurrent": unused(25_000, "as Voltage"),
    "EraseCurrent": unused(25_000, "as Voltage"),
    "IdleCurrent": unused(5_000, "as Voltage"),
    "StandbyCurrent": unused(10, "as Voltage"),
}

FTL = {
    "MappingMode": taken(0, "ftl").one_of("0"),
    "OverProvisioningRatio": differs(
        0.25, "device.over_provisioning", "spare / whole there, spare / logical here"
    ).within(0.001, 0.9),
    "EraseThreshold": count(100_000, "device.rules.endurance", "erases until a block is bad"),
    "FillingMode": differs(0, "precondition.fill", "overwrites are random here").one_of("0", "1", "2"),
    "FillRatio": taken(0.0, "precondition.fill").within(0, 1),
    "InvalidPageRatio": taken(0.0, "precondition.overwrites").within(0, 1),
    "EvictPolicy": taken(0, "ftl.page.victim").one_of("0", "1", "2", "3"),
    "DChoiceParam": taken(3, "ftl.page.victim").within(1, 4096),
    "GCThreshold": differs(
        0.05, "ftl.page.reserve_blocks", "a share of all blocks there, free blocks of a die here"
    ).within(0, 0.9),
    "GCMode": told(0, "a host's page pays for its share of collection here", ""),
    "GCReclaimBlocks": told(1, "as GCMode").within(1),
    "GCReclaimThreshold": told(0.1, "as GCMode").within(0, 1),
    "EnableRandomIOTweak": unused(True, "only with super pages"),
}

ICL = {
    "CacheSize": taken(32 << 20, _BUFFER),
    "CacheWaySize": told(1, "the whole cache is one set here", 0),
    "EnableReadCache": taken(False, "buffer.lru.cache_reads"),
    "EnableReadPrefetch": told(False, _PREFETCH, False),
    "ReadPrefetchMode": unused(1, "a part of EnableReadPrefetch"),
    "ReadPrefetchCount": unused(1, "a part of EnableReadPrefetch"),
    "ReadPrefetchRatio": unused(0.5, "a part of EnableReadPrefetch"),
    "EnableWriteCache": taken(True, _BUFFER),
    "EvictPolicy": taken(2, "buffer.lru")
    .one_of("2")
    .never(
        _0="no buffer here evicts at random; --instead icl.EvictPolicy=2 takes LRU",
        _1="no buffer here is a FIFO; --instead icl.EvictPolicy=2 takes LRU",
    ),
    "EvictMode": told(1, "one page is evicted at a time here"),
    "CacheLatency": told(10, _DRAM),
}

_DRAM_PARTS = "Channel Rank Bank Chip BusWidth BurstLength ChipSize PageSize"
_DRAM_TIMES = (
    "tCK tRCD tCL tRP tRAS tWR tRTP tBURST tCCD_L tRFC tREFI tWTR "
    "tRTW tCS tRRD tRRD_L tXAW tXP tXPDLL tXS tXSDLL"
)
_CURRENTS = "IDD0 IDD2P0 IDD2P1 IDD2N IDD3P0 IDD3P1 IDD3N IDD4R IDD4W IDD5 IDD6 VDD"
_DRAM_POWERS = " ".join(f"{name}_{at}" for name in _CURRENTS.split(" ") for at in (0, 1))
DRAM = {
    "Model": told(0, _DRAM),
    **{key: unused("", "a part of Model") for key in f"{_DRAM_PARTS} {_DRAM_TIMES} {_DRAM_POWERS}".split()},
}

GLOBAL = {
    "Mode": taken(0, "workload").one_of("0", "1"),
    "LogPeriod": unused(0, "a log"),
    "LogFile": unused("", "a log"),
    "DebugLogFile": unused("", "a log"),
    "LatencyLogFile": unused("", "a log; --op-log is one here"),
    "ProgressPeriod": unused(0, "a log"),
    "Interface": taken(1, _LINK)
    .one_of("0", "1")
    .never(
        _2="there is no SATA here; --instead Interface=1 takes NVMe",
        _3="there is no UFS here; --instead Interface=1 takes NVMe",
    ),
    "Scheduler": taken(0, "").one_of("0"),
    "SubmissionLatency": differs("0", "device.controller.latency_us", "both latencies of the host in one"),
    "CompletionLatency": differs("0", "device.controller.latency_us", "both latencies of the host in one"),
}

GENERATOR = {
    "io_size": taken("0", _JOB),
    "readwrite": taken("read", _JOB).one_of("read", "write", "randread", "randwrite", "readwrite", "randrw"),
    "rwmixread": taken(0.0, _JOB).within(0, 1),
    "blocksize": taken("4K", _JOB),
    "blockalign": taken("", _JOB),
    "iomode": taken("sync", _JOB).one_of("sync", "async"),
    "iodepth": taken(1, _JOB).within(0, 65536),
    "offset": taken("0", _JOB),
    "size": taken("", _JOB),
    "thinktime": taken("0", _JOB),
    "randseed": taken(0, _JOB, "other random numbers all the same"),
    "time_based": taken(False, _JOB),
    "runtime": taken("0", _JOB),
}

_REGEX_PARTS = (
    "Operation ByteOffset ByteLength LBAOffset LBALength Second Millisecond Microsecond Nanosecond "
    "Picosecond UseHexadecimal"
)
TRACE = {
    "File": taken("", "workload.trace.path"),
    "TimingMode": taken(0, "host.arrival").one_of("0", "1", "2"),
    "QueueDepth": taken(1, "host.queue_depth").within(1, 65536),
    "IOLimit": taken(0, "workload.trace.requests"),
    "Regex": differs(
        "", "workload.trace.format", "nandlab tells the format by the file, not by an expression"
    ),
    **{key: unused("", "a part of Regex") for key in _REGEX_PARTS.split(" ")},
    "LBASize": told(512, "sectors of 512 bytes here", 512),
}

SECTIONS: dict[str, dict[str, Key]] = {
    "global": GLOBAL,
    "generator": GENERATOR,
    "trace": TRACE,
    "cpu": CPU,
    "nvme": NVME,
    "ufs": UFS,
    "sata": SATA,
    "pal": PAL,
    "ftl": FTL,
    "icl": ICL,
    "dram": DRAM,
}
