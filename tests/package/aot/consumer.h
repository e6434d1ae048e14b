#ifndef CONSUMER_H
#define CONSUMER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Each launches kernels and checks what they make; 0 if it is right. */
int launch_from_c(void);
int launch_later(void);
/* Prints what kernels print, and behind it what came of each. */
int tell_from_c(void);

#ifdef __cplusplus
}
#endif

#endif
