/* Built against the installed package with a C compiler: opens a pipeline that is none, and says what it is told. */
#include <forebay/forebay.h>
#include <stdio.h>

int main(void) {
  fb_loader* loader = NULL;
  fb_code code;
  if (fb_abi_version() != FB_ABI_VERSION) return 1;
  code = fb_open("{\"forebay_pipeline\": 1}", "{\"seed\": 7}", &loader);
  puts(fb_code_name(code));
  return loader != NULL || fb_last_error_message()[0] == '\0';
}
