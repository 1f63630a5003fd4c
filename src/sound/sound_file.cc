#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <sndfile.h>

#include "sound/chunks.h"
#include "sound/readers.h"

namespace forebay {
namespace {

constexpr int64_t kSoundBlock = 4096;  // frames delivered at a time
// The library's state, and the code books of Vorbis.
constexpr uint64_t kSoundWorkingBytes = 2 << 20;

struct CloseSoundFile {
  void operator()(SNDFILE* file) const { sf_close(file); }
};

struct SoundCursor {
  AudioBytes bytes;
  SoundView view;
  sf_count_t position = 0;

  sf_count_t size() const { return static_cast<sf_count_t>(bytes.size()); }
  static sf_count_t length(void* self) { return static_cast<SoundCursor*>(self)->size(); }
  static sf_count_t tell(void* self) { return static_cast<SoundCursor*>(self)->position; }
  static sf_count_t write(const void*, sf_count_t, void*) { return 0; }
  static sf_count_t seek(sf_count_t offset, int whence, void* self) {
    auto& cursor = *static_cast<SoundCursor*>(self);
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? cursor.position : cursor.size();
    // Limited to 0 up to the end, so that no sum of untrusted numbers overflows.
    if (offset > cursor.size() - from || offset < -from) return -1;
    return cursor.position = from + offset;
  }
  static sf_count_t read(void* out, sf_count_t size, void* self) {
    auto& cursor = *static_cast<SoundCursor*>(self);
    size = std::clamp<sf_count_t>(size, 0, cursor.size() - cursor.position);
    if (size > 0) std::memcpy(out, cursor.bytes.data() + cursor.position, static_cast<size_t>(size));
    cursor.apply_patch(static_cast<uint8_t*>(out), static_cast<size_t>(cursor.position), static_cast<size_t>(size));
    cursor.position += size;
    return size;
  }
  void apply_patch(uint8_t* out, size_t from, size_t size) const {
    for (size_t i = 0; i < view.patch_bytes; ++i) {
      const size_t at = view.patch_at + i;
      if (at >= from && at - from < size) out[at - from] = view.patch[i];
    }
  }
};

std::string_view ogg_name(int format, std::string_view otherwise) {
  switch (format & SF_FORMAT_SUBMASK) {
    case SF_FORMAT_VORBIS: return "Ogg Vorbis";
    case SF_FORMAT_OPUS: return "Ogg Opus";
    default: return otherwise;
  }
}

class SoundFileReader final : public AudioReader {
 public:
  SoundFileReader(AudioBytes bytes, const SoundView& view) : cursor_{bytes.first(view.end), view} {}

  Status begin(std::string_view format) {
    SF_VIRTUAL_IO io = {SoundCursor::length, SoundCursor::seek, SoundCursor::read, SoundCursor::write,
                        SoundCursor::tell};
    SF_INFO said = {};
    file_.reset(sf_open_virtual(&io, SFM_READ, &said, &cursor_));
    // The library keeps its error message in one place for all threads, so it may belong to another
    // file by now.
    if (!file_)
      return corrupt(fmt::format("the header of the {} file is damaged, or of a kind that is not read", format));
    if (said.channels < 1 || said.channels > kMaxAudioChannels)
      return unsupported(fmt::format("{} channels; up to {} are read", said.channels, kMaxAudioChannels));
    if (said.samplerate < 1) return corrupt(fmt::format("{} samples a second", said.samplerate));
    info_ = {ogg_name(said.format, format), said.samplerate, said.channels, std::nullopt, false, kSoundWorkingBytes};
    // The library uses SF_COUNT_MAX for an unknown count.
    if (said.frames >= 0 && said.frames < SF_COUNT_MAX) info_.frames = said.frames;
    return {};
  }

 private:
  Status read_frames(AudioSink& sink) override {
    values_.resize(static_cast<size_t>(kSoundBlock * info_.channels));
    while (const sf_count_t count = sf_readf_float(file_.get(), values_.data(), kSoundBlock)) {
      if (count < 0) return corrupt("cannot be decoded");
      FOREBAY_RETURN_IF_ERROR(sink.frames(values_.data(), count));
    }
    if (sf_error(file_.get()) == SF_ERR_NO_ERROR) return {};
    return corrupt(fmt::format("{} is damaged: {}", info_.format, sf_strerror(file_.get())));
  }

  SoundCursor cursor_;
  std::vector<float> values_;
  std::unique_ptr<SNDFILE, CloseSoundFile> file_;
};

}  // namespace

Result<std::unique_ptr<AudioReader>> open_sound_file(AudioBytes bytes, std::string_view format) {
  SoundView view{bytes.size(), 0, 0, {}};
  if (format != "Ogg") {
    FOREBAY_ASSIGN(view, check_sound_chunks(bytes, format));
  }
  auto reader = std::make_unique<SoundFileReader>(bytes, view);
  FOREBAY_RETURN_IF_ERROR(reader->begin(format));
  return std::unique_ptr<AudioReader>(std::move(reader));
}

}  // namespace forebay
