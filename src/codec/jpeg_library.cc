#include "codec/jpeg_library.h"

#include <fmt/format.h>

#include <jerror.h>  // after jpeglib.h

namespace forebay {
namespace {

bool harmless(int message) {
  switch (message) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_BOGUS_ICC: return true;
    default: return false;
  }
}

Code code_of(int message) {
  switch (message) {
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_IMAGE_TOO_BIG:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED: return Code::kUnsupported;
    case JERR_OUT_OF_MEMORY: return Code::kOutOfBudget;
    default: return Code::kCorrupt;
  }
}

}  // namespace

void JpegLibrary::on_error(j_common_ptr library) {
  std::longjmp(reinterpret_cast<ErrorManager*>(library->err)->back, 1);
}

void JpegLibrary::on_message(j_common_ptr library, int level) {
  // Negative levels are warnings; others are traces.
  if (level < 0 && !harmless(library->err->msg_code)) on_error(library);
}

boolean JpegLibrary::on_empty(j_decompress_ptr library) {
  auto* errors = reinterpret_cast<ErrorManager*>(library->err);
  // All bytes were there from the beginning, so no more will come.
  errors->ended_early = true;
  on_error(reinterpret_cast<j_common_ptr>(library));
  return FALSE;
}

void JpegLibrary::on_skip(j_decompress_ptr library, long count) {
  if (count <= 0) return;
  if (static_cast<size_t>(count) > library->src->bytes_in_buffer) on_empty(library);
  library->src->next_input_byte += count;
  library->src->bytes_in_buffer -= static_cast<size_t>(count);
}

void JpegLibrary::prepare(Bytes bytes) {
  // A new object for each image, because tables of the previous one would otherwise replace missing
  // ones. This costs a few small allocations: the kernel's share of decoding photographs is below 2
  // %.
  library_.err = jpeg_std_error(&errors_.base);
  errors_.base.error_exit = on_error;
  errors_.base.emit_message = on_message;
  errors_.ended_early = false;
  source_.next_input_byte = bytes.data();
  source_.bytes_in_buffer = bytes.size();
  source_.init_source = [](j_decompress_ptr) {};
  source_.fill_input_buffer = on_empty;
  source_.skip_input_data = on_skip;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.term_source = [](j_decompress_ptr) {};
}

Status JpegLibrary::error_status() {
  if (errors_.ended_early) return corrupt("JPEG ends early");
  constexpr int kLossless = 0xC3;
  if (errors_.base.msg_code == JERR_SOF_UNSUPPORTED && errors_.base.msg_parm.i[0] == kLossless) {
    return unsupported(
        "JPEG of kind SOF3 (lossless, process 14): decoding it takes a build with libjpeg-turbo 3.0 or newer; "
        "or save it again as PNG");
  }
  char text[JMSG_LENGTH_MAX] = {};
  errors_.base.format_message(reinterpret_cast<j_common_ptr>(&library_), text);
  return Status(code_of(errors_.base.msg_code), fmt::format("JPEG: {}", text));
}

Status JpegLibrary::run(Bytes bytes, void (*steps)(jpeg_decompress_struct*, void*), void* context) {
  prepare(bytes);
  Status status;
  // Nothing below may have a destructor, or change a local that is read after the jump. `status` is
  // set only after it.
  if (setjmp(errors_.back) == 0) {
    jpeg_create_decompress(&library_);
    library_.src = &source_;
    steps(&library_, context);
  } else {
    status = error_status();
  }
  jpeg_destroy_decompress(&library_);
  return status;
}

}  // namespace forebay
