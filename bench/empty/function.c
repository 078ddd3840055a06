/* The empty function that both libraries measure, in a separate file, so that the compiler cannot inline it. */
void nothing(void *params);
void nothing(void *params)
{
    (void)params;
}
