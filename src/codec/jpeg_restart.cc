#include <cstdlib>
#include <cstring>

#include "base/hash.h"
#include "codec/jpeg_library.h"
#include "codec/jpeg_restart.h"

namespace forebay {

namespace {

constexpr int64_t kMaxRestartPixels = 100'000'000;

/// State of one rewrite. It must not have members with destructors, because errors jump over it.
struct Rewrite {
  jpeg_compress_struct writer;
  bool created;
  unsigned char* memory;
  unsigned long size;
};

/// Copies the segments that the library does not write by itself.
void copy_segments(jpeg_decompress_struct* reader, jpeg_compress_struct* writer) {
  for (jpeg_saved_marker_ptr segment = reader->marker_list; segment != nullptr; segment = segment->next) {
    const auto begins = [&](const char* name, unsigned length) {
      return segment->data_length >= length && std::memcmp(segment->data, name, length) == 0;
    };
    if (writer->write_JFIF_header && segment->marker == JPEG_APP0 && begins("JFIF", 5)) continue;
    if (writer->write_Adobe_marker && segment->marker == JPEG_APP0 + 14 && begins("Adobe", 5)) continue;
    jpeg_write_marker(writer, segment->marker, segment->data, segment->data_length);
  }
}

void rewrite_steps(jpeg_decompress_struct* reader, void* context) {
  Rewrite& task = *static_cast<Rewrite*>(context);
  jpeg_compress_struct* const writer = &task.writer;
  // Both objects report errors by the same jump, to JpegLibrary::run().
  writer->err = reader->err;
  jpeg_create_compress(writer);
  task.created = true;
  jpeg_save_markers(reader, JPEG_COM, 0xffff);
  for (int i = 0; i < 16; ++i) jpeg_save_markers(reader, JPEG_APP0 + i, 0xffff);
  jpeg_read_header(reader, TRUE);
  jvirt_barray_ptr* const coefficients = jpeg_read_coefficients(reader);
  jpeg_copy_critical_parameters(reader, writer);
  writer->optimize_coding = TRUE;
  writer->restart_in_rows = 1;
  jpeg_mem_dest(writer, &task.memory, &task.size);
  // This begins the file. The coefficients are written only by finish_compress(), so segments can
  // still be inserted.
  jpeg_write_coefficients(writer, coefficients);
  copy_segments(reader, writer);
  jpeg_finish_compress(writer);
  jpeg_finish_decompress(reader);
}

Result<Buffer> rewritten(const Buffer& file) {
  Rewrite task = {};
  Status status = JpegLibrary().run(file.span(), rewrite_steps, &task);
  Buffer made;
  if (status.ok()) {
    made = Buffer::allocate(task.size);
    std::memcpy(made.data(), task.memory, task.size);
  }
  if (task.created) {
    // Before this call `memory` is the library's first buffer, which it has freed if the file
    // outgrew it.
    if (!status.ok() && task.writer.dest != nullptr) task.writer.dest->term_destination(&task.writer);
    jpeg_destroy_compress(&task.writer);
  }
  std::free(task.memory);
  if (!status.ok()) return status;
  return made;
}

class HashRows final : public RowSink {
 public:
  explicit HashRows(size_t row_bytes) : row_bytes_(row_bytes) {}
  void row(const uint8_t* row) override { hasher_.update(row, row_bytes_); }
  Hash128 hash() const { return hasher_.digest(); }

 private:
  Hasher hasher_;
  const size_t row_bytes_;
};

/// Hash of the decoded pixels and the size of a JPEG.
Result<Hash128> pixels_of(const Buffer& file) {
  FOREBAY_ASSIGN(const ImageInfo info, probe_image(file.span()));
  if (info.format != ImageFormat::kJpeg || info.lossless) return unsupported("no JPEG of coefficients");
  if (info.pixels() > kMaxRestartPixels) return unsupported("too large");
  HashRows rows(static_cast<size_t>(info.stored_width * channels(ColorMode::kRgb)));
  FOREBAY_RETURN_IF_ERROR(
      decode_rows(file.span(), info, {0, 0, info.stored_width, info.stored_height}, ColorMode::kRgb, rows));
  const Hash128 pixels = rows.hash();
  return hash128(pixels.to_string() + std::to_string(info.stored_width) + "x" + std::to_string(info.stored_height) +
                 "/" + std::to_string(info.orientation) + "/" + std::to_string(info.components));
}

}  // namespace

Buffer with_restart_markers(const Buffer& file) {
  // Done first, because it refuses images that would take too long.
  const Result<Hash128> was = pixels_of(file);
  if (!was.ok()) return file;
  Result<Buffer> made = rewritten(file);
  if (!made.ok()) return file;
  const Result<Hash128> is = pixels_of(*made);
  return is.ok() && *is == *was ? std::move(*made) : file;
}

}  // namespace forebay
