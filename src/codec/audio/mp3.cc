#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <mpg123.h>

#include "base/sniff.h"
#include "codec/audio/readers.h"

namespace forebay {
namespace {

constexpr int64_t kMp3Block = 4608;             // frames of sound given at a time
constexpr uint64_t kMp3WorkingBytes = 1 << 19;  // a decoder's state, its buffer and index

// By itself the library takes the fastest decoder that the processor has, and each gives other last bits: these two run on every
// processor of their architecture. The first is there on x86 with 64 bits alone.
mpg123_handle* new_mp3_decoder() {
  // Once a process; later versions do not need it, and earlier ones may not have it done by two threads.
  static const int started = mpg123_init();
  if (started != MPG123_OK) return nullptr;
  for (const char* name : {"x86-64", "generic"}) {
    if (mpg123_handle* handle = mpg123_new(name, nullptr)) return handle;
  }
  return nullptr;
}

struct DeleteMp3Decoder {
  void operator()(mpg123_handle* handle) const { mpg123_delete(handle); }
};

struct ByteCursor {
  AudioBytes bytes;
  size_t place = 0;

  static ssize_t read(void* self, void* out, size_t size) {
    auto& cursor = *static_cast<ByteCursor*>(self);
    size = std::min(size, cursor.bytes.size() - cursor.place);
    if (size > 0) std::memcpy(out, cursor.bytes.data() + cursor.place, size);
    cursor.place += size;
    return static_cast<ssize_t>(size);
  }
  static off_t seek(void* self, off_t offset, int whence) {
    auto& cursor = *static_cast<ByteCursor*>(self);
    const auto end = static_cast<off_t>(cursor.bytes.size());
    const off_t to = offset + (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? static_cast<off_t>(cursor.place) : end);
    if (to < 0 || to > end) return -1;
    cursor.place = static_cast<size_t>(to);
    return to;
  }
};

// How many MPEG frames the file had when its encoder wrote the Xing tag; 0 where there is none.
int64_t announced_mpeg_frames(AudioBytes bytes) {
  const AudioBytes frame = bytes.subspan(id3_bytes(bytes));
  if (frame.size() < 4) return 0;
  const bool mpeg1 = (frame[1] >> 3 & 3) == 3, mono = frame[3] >> 6 == 3;
  // Behind the frame's header and its side information, which is as long as version and channels say (ISO 11172-3, 13818-3).
  const size_t tag = 4 + (mpeg1 ? (mono ? 17u : 32u) : (mono ? 9u : 17u));
  if (frame.size() < tag + 12) return 0;
  const uint8_t* at = frame.data() + tag;
  if (std::memcmp(at, "Xing", 4) != 0 && std::memcmp(at, "Info", 4) != 0) return 0;
  // The flags' lowest bit: the number of frames follows.
  if ((at[7] & 1) == 0) return 0;
  return int64_t{at[8]} << 24 | at[9] << 16 | at[10] << 8 | at[11];
}

// Where frames do not say how long they are, the library must look at the second one. Without that it takes files of one frame, too.
bool is_free_format(AudioBytes bytes) {
  const AudioBytes frame = bytes.subspan(id3_bytes(bytes));
  return frame.size() > 2 && frame[2] >> 4 == 0;
}

class Mp3Reader final : public AudioReader {
 public:
  Mp3Reader(AudioBytes bytes, bool mixes) : cursor_{bytes}, decoder_(new_mp3_decoder()), mixes_(mixes) {}

  Status begin() {
    mpg123_handle* const mp3 = decoder_.get();
    if (mp3 == nullptr) return internal_error("libmpg123 has no decoder for every processor");
    mpg123_param(mp3, MPG123_REMOVE_FLAGS, MPG123_AUTO_RESAMPLE, 0);
    mpg123_param(mp3, MPG123_ADD_FLAGS, MPG123_FORCE_FLOAT | MPG123_QUIET | MPG123_GAPLESS | MPG123_NO_RESYNC, 0);
    if (!is_free_format(cursor_.bytes)) mpg123_param(mp3, MPG123_ADD_FLAGS, MPG123_NO_READAHEAD, 0);
    // Before the last filter, which then runs once.
    if (mixes_) mpg123_param(mp3, MPG123_ADD_FLAGS, MPG123_MONO_MIX, 0);
    mpg123_replace_reader_handle(mp3, ByteCursor::read, ByteCursor::seek, nullptr);
    if (mpg123_open_handle(mp3, &cursor_) != MPG123_OK) return damaged("cannot be opened");
    FOREBAY_RETURN_IF_ERROR(take_format());
    // From frame to frame by their headers alone: what the file really has.
    if (mpg123_scan(mp3) != MPG123_OK) return damaged("its frames cannot be counted");
    return check_length();
  }

 private:
  Status take_format() {
    long rate = 0;
    int channels = 0, encoding = 0;
    if (mpg123_getformat(decoder_.get(), &rate, &channels, &encoding) != MPG123_OK) return damaged("no frame of MPEG");
    if (encoding != MPG123_ENC_FLOAT_32) return internal_error("libmpg123 gives no float32");
    mpg123_frameinfo stored = {};
    if (mpg123_info(decoder_.get(), &stored) != MPG123_OK) return damaged("no frame of MPEG");
    const int64_t has = stored.mode == MPG123_M_MONO ? 1 : 2;
    info_ = {"MP3", rate, has, std::nullopt, channels < has, kMp3WorkingBytes};
    return {};
  }

  Status check_length() {
    const int64_t announced = announced_mpeg_frames(cursor_.bytes), has = mpg123_framelength(decoder_.get());
    // Some encoders count the frame that the tag lies in.
    if (announced > has + 1) return corrupt(fmt::format("ends after {} of {} MPEG frames", has, announced));
    const off_t frames = mpg123_length(decoder_.get());
    if (frames >= 0) info_.frames = frames;
    return {};
  }

  Status read_frames(AudioSink& sink) override {
    const int64_t given = info_.mixed ? 1 : info_.channels;
    values_.resize(static_cast<size_t>(kMp3Block * given));
    while (true) {
      size_t bytes = 0;
      const int answer = mpg123_read(decoder_.get(), values_.data(), values_.size() * sizeof(float), &bytes);
      const auto count = static_cast<int64_t>(bytes / sizeof(float)) / given;
      if (count > 0) FOREBAY_RETURN_IF_ERROR(sink.frames(values_.data(), count));
      given_ += count;
      if (answer == MPG123_DONE) return {};
      if (answer == MPG123_NEW_FORMAT)
        FOREBAY_RETURN_IF_ERROR(check_format());
      else if (answer != MPG123_OK)
        return damaged("cannot be decoded");
    }
  }

  Status check_format() {
    const AudioInfo before = info_;
    FOREBAY_RETURN_IF_ERROR(take_format());
    if (info_.rate == before.rate && info_.channels == before.channels) return {};
    return unsupported(fmt::format(
        "the format changes at sample {}: {} channels at {} Hz, after {} at {} Hz; cut it into files of one format",
        given_, info_.channels, info_.rate, before.channels, before.rate));
  }

  Status damaged(std::string_view what) const {
    return corrupt(fmt::format("MP3: {} behind sample {}: {}", what, given_, mpg123_strerror(decoder_.get())));
  }

  ByteCursor cursor_;
  int64_t given_ = 0;
  std::vector<float> values_;
  std::unique_ptr<mpg123_handle, DeleteMp3Decoder> decoder_;
  bool mixes_;
};

}  // namespace

Result<std::unique_ptr<AudioReader>> open_mp3(AudioBytes bytes, bool mixes) {
  auto reader = std::make_unique<Mp3Reader>(bytes, mixes);
  FOREBAY_RETURN_IF_ERROR(reader->begin());
  return std::unique_ptr<AudioReader>(std::move(reader));
}

}  // namespace forebay
