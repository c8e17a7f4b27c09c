"""Devices, echo, and playback: sound in and out, without knowing what it says."""

from edgeagent.front import front

__getattr__ = front(
    __name__,
    {
        "alignment": "Alignment",
        "delay": "DelayEstimator measure sweep",
        "device": "SoundDevice Fill Samples Take Xruns holder_of_cards patiently",
        "double_talk": "DoubleTalk",
        "duplex": "Duplex",
        "early_echo": "EarlyEcho Frame",
        "echo": "EchoCanceller FRAME_S Mode",
        "endpoint": "EndpointSettings Endpointer HardEnd LAG_MS SoftEnd SpeechResumed SpeechStarted VoiceEvent",
        "far_end": "SampleHistory",
        "files": "FileDevice StoppableFile",
        "linear_echo": "LinearCanceller Remainder",
        "playback": "PlaybackQueue Utterance",
        "portaudio": "LATENCY_S PortAudioDevice devices",
        "residual_gate": "ResidualGate",
        "stereo_recorder": "StereoRecorder",
        "stream_clock": "Resampler StreamClock",
        "vad": "CHUNK FRAME RATE_HZ Silero VoiceActivity VoiceFrame VoiceSettings",
        "wav": "WavReader WavWriter read_wav whole_wav",
    },
)
