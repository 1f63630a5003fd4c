#include "ops/definition/registry.h"

#include "pipeline/operator.h"

namespace forebay {

std::vector<OpDef> all_ops() {
  std::vector<OpDef> ops;
  for (OpDef (*op)() : {add_noise_op,    aggregate_op,
                        balance_op,      batch_op,
                        bucket_op,       buffer_op,
                        cache_op,        cast_op,
                        center_crop_op,  clip_op,
                        color_jitter_op, decode_audio_op,
                        decode_image_op, embed_op,
                        extract_text_op, fill_missing_op,
                        fill_null_op,    hash_bucket_op,
                        image_size_op,   join_parts_op,
                        keep_groups_op,  keep_keys_op,
                        layout_op,       leave_out_op,
                        log1p_op,        mel_spectrogram_op,
                        mfcc_op,         normalize_op,
                        only_op,         pack_op,
                        pad_op,          pad_or_crop_op,
                        part_number_op,  patchify_op,
                        random_crop_op,  random_flip_op,
                        random_gain_op,  random_resized_crop_op,
                        rehearse_op,     rename_op,
                        repeat_op,       resize_op,
                        sample_op,       select_op,
                        shuffle_op,      spec_augment_op,
                        stack_op,        take_op,
                        tokenize_op,     window_op}) {
    ops.push_back(op());
  }
  return ops;
}

}  // namespace forebay
