#include "runtime/block_source.h"

#include "base/blocks.h"

namespace forebay {

namespace {

class OwnMemory final : public BlockSource {
 public:
  uint8_t* allocate(size_t bytes) override { return allocate_block(bytes); }
  void free(uint8_t* block, size_t bytes) override { free_block(block, bytes); }
};

}  // namespace

std::shared_ptr<BlockSource> BlockSource::own_memory() { return std::make_shared<OwnMemory>(); }

}  // namespace forebay
