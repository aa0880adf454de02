"""AT86RF231: registers, states, commands, interrupts and times, as its data sheet (8111C) has them.

Sections: states 7.1, 7.2; registers 14; transition times Table 7-1; blocks Table 7-2; interrupts 6.6; interface times 12.4.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag


class Reg(IntEnum):
    TRX_STATUS, TRX_STATE, TRX_CTRL_0, TRX_CTRL_1 = 0x01, 0x02, 0x03, 0x04
    PHY_TX_PWR, PHY_RSSI, PHY_ED_LEVEL, PHY_CC_CCA = 0x05, 0x06, 0x07, 0x08
    CCA_THRES, RX_CTRL, SFD_VALUE, TRX_CTRL_2 = 0x09, 0x0A, 0x0B, 0x0C
    ANT_DIV, IRQ_MASK, IRQ_STATUS, VREG_CTRL = 0x0D, 0x0E, 0x0F, 0x10
    BATMON, XOSC_CTRL, RX_SYN, XAH_CTRL_1 = 0x11, 0x12, 0x15, 0x17
    FTN_CTRL, PLL_CF, PLL_DCU = 0x18, 0x1A, 0x1B
    PART_NUM, VERSION_NUM, MAN_ID_0, MAN_ID_1 = 0x1C, 0x1D, 0x1E, 0x1F
    SHORT_ADDR_0, SHORT_ADDR_1, PAN_ID_0, PAN_ID_1 = 0x20, 0x21, 0x22, 0x23
    IEEE_ADDR_0, IEEE_ADDR_7 = 0x24, 0x2B
    XAH_CTRL_0, CSMA_SEED_0, CSMA_SEED_1, CSMA_BE = 0x2C, 0x2D, 0x2E, 0x2F


#: Values after reset that are not zero.
RESET = {
    Reg.TRX_CTRL_0: 0x19, Reg.TRX_CTRL_1: 0x20, Reg.PHY_TX_PWR: 0xC0, Reg.PHY_ED_LEVEL: 0xFF, Reg.PHY_CC_CCA: 0x2B,
    Reg.CCA_THRES: 0xC7, Reg.RX_CTRL: 0xB7, Reg.SFD_VALUE: 0xA7, Reg.ANT_DIV: 0x03, Reg.BATMON: 0x02, Reg.XOSC_CTRL: 0xF0,
    Reg.FTN_CTRL: 0x58, Reg.PLL_CF: 0x57, Reg.PLL_DCU: 0x20, Reg.PART_NUM: 0x03, Reg.VERSION_NUM: 0x02, Reg.MAN_ID_0: 0x1F,
    Reg.SHORT_ADDR_0: 0xFF, Reg.SHORT_ADDR_1: 0xFF, Reg.PAN_ID_0: 0xFF, Reg.PAN_ID_1: 0xFF,
    Reg.XAH_CTRL_0: 0x38, Reg.CSMA_SEED_0: 0xEA, Reg.CSMA_SEED_1: 0x42, Reg.CSMA_BE: 0x53,
}
READ_ONLY = frozenset((Reg.TRX_STATUS, Reg.PHY_RSSI, Reg.IRQ_STATUS, Reg.PART_NUM, Reg.VERSION_NUM, Reg.MAN_ID_0, Reg.MAN_ID_1))


class State(IntEnum):
    """Table 7-15. Without a clock for the controller (*_NOCLK): not modelled."""

    P_ON, BUSY_RX, BUSY_TX, RX_ON, TRX_OFF, PLL_ON, SLEEP = 0x00, 0x01, 0x02, 0x06, 0x08, 0x09, 0x0F
    BUSY_RX_AACK, BUSY_TX_ARET, RX_AACK_ON, TX_ARET_ON = 0x11, 0x12, 0x16, 0x19
    TRANSITION = 0x1F


class Command(IntEnum):
    """Table 7-17."""

    NOP, TX_START, FORCE_TRX_OFF, FORCE_PLL_ON = 0x00, 0x02, 0x03, 0x04
    RX_ON, TRX_OFF, PLL_ON, RX_AACK_ON, TX_ARET_ON = 0x06, 0x08, 0x09, 0x16, 0x19


class Irq(IntFlag):
    PLL_LOCK, PLL_UNLOCK, RX_START, TRX_END, CCA_ED_DONE, AMI, TRX_UR, BAT_LOW = (1 << i for i in range(8))


class Trac(IntEnum):
    """Tables 7-12, 7-16."""

    SUCCESS, SUCCESS_DATA_PENDING, SUCCESS_WAIT_FOR_ACK, CHANNEL_ACCESS_FAILURE, NO_ACK, INVALID = 0, 1, 2, 3, 5, 7


AWAKE_END = Irq.CCA_ED_DONE     #: IRQ_4 has two meanings
LISTENING = frozenset((State.RX_ON, State.RX_AACK_ON))
BUSY = frozenset((State.BUSY_RX, State.BUSY_TX, State.BUSY_RX_AACK, State.BUSY_TX_ARET))

# Microseconds -------------------------------------------------------------------------------------
_OFF, _PLL, _RX, _AACK, _ARET = State.TRX_OFF, State.PLL_ON, State.RX_ON, State.RX_AACK_ON, State.TX_ARET_ON
PLL_START = 110                 #: t_TR4, t_TR6: the regulator and the PLL
#: State -> command -> (state, time). Table 7-1; figures 7-1 and 7-8. What is not here is ignored.
TRANSITIONS: dict[State, dict[Command, tuple[State, int]]] = {
    State.P_ON: {Command.TRX_OFF: (_OFF, 1), Command.FORCE_TRX_OFF: (_OFF, 1)},
    _OFF: {Command.PLL_ON: (_PLL, PLL_START), Command.RX_ON: (_RX, PLL_START), Command.RX_AACK_ON: (_AACK, PLL_START),
           Command.TX_ARET_ON: (_ARET, PLL_START)},
    _PLL: {Command.TRX_OFF: (_OFF, 1), Command.RX_ON: (_RX, 1), Command.RX_AACK_ON: (_AACK, 1), Command.TX_ARET_ON: (_ARET, 1)},
    _RX: {Command.TRX_OFF: (_OFF, 1), Command.PLL_ON: (_PLL, 1), Command.RX_AACK_ON: (_AACK, 1)},
    _AACK: {Command.TRX_OFF: (_OFF, 1), Command.PLL_ON: (_PLL, 1), Command.RX_ON: (_RX, 1)},
    _ARET: {Command.TRX_OFF: (_OFF, 1), Command.PLL_ON: (_PLL, 1)},
}
FORCED = 1                      #: t_TR12, t_TR14
WAKE = 380                      #: t_TR2: SLEEP to TRX_OFF
SLEEP_AFTER = 35                #: t_TR3: TRX_OFF to SLEEP, with the controller's clock at 1 MHz
RESET_TIME = 37                 #: t_TR13
TX_DELAY = 16                   #: t_TR10, t_TR23: from the start of a transmission to its first symbol
TX_TO_RX = 32                   #: t_TR11, t_TR24
IRQ_LATENCY = 9                 #: 12.4, t_IRQ
CCA_TIME = 140                  #: t_TR28: 8 symbols and 12 us of processing
ED_TIME = 140                   #: t_TR26

# IEEE 802.15.4, O-QPSK at 2.4 GHz: a symbol is 16 us, an octet 32 us
SYMBOL = 16
OCTET = 32
SHR = 5 * OCTET                 #: preamble and start of frame delimiter
PHR = OCTET
HEARD_FROM = 3 * OCTET          #: a receiver that listens from here on in a frame still finds its start (8.1, a model)
ACK_TIME = 12 * SYMBOL          #: 7.2.3.5, AACK_ACK_TIME = 0
ACK_TIME_SHORT = 2 * SYMBOL     #: AACK_ACK_TIME = 1
ACK_WAIT = 54 * SYMBOL          #: 7.2.4
BACKOFF = 20 * SYMBOL           #: aUnitBackoffPeriod
LONGEST = 127                   #: octets of a frame

# Levels, dBm -----------------------------------------------------------------------------------------
RSSI_BASE = -91                 #: 8.3.3, 8.4.3
SENSITIVITY = -101
FLOOR = -100                    #: what is measured when nothing is on the air

#: Milliamperes by state (12.8, typical): for energy estimates.
CURRENT = {State.SLEEP: 0.00002, State.P_ON: 0.4, State.TRX_OFF: 0.4, State.PLL_ON: 5.6, State.TX_ARET_ON: 5.6,
           State.RX_ON: 12.3, State.RX_AACK_ON: 12.3, State.BUSY_RX: 12.3, State.BUSY_RX_AACK: 12.3,
           State.BUSY_TX: 14.0, State.BUSY_TX_ARET: 14.0, State.TRANSITION: 5.6}
